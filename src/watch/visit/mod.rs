mod choice;
mod kinds;
mod lasting;
mod observation;
mod page;
mod passing;
mod steps;
mod storage;

pub use kinds::Visit;
pub use observation::{Observation, Screenshot, StoredValue};
pub use steps::{Setting, observe};
