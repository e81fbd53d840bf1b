mod choice;
mod extension;
mod kinds;
mod observation;
mod page;
mod passing;
mod steps;
mod storage;

pub use kinds::Visit;
pub use observation::{Observation, Screenshot, StoredValue};
pub use steps::{Setting, observe};
