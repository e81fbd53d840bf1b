//! The steps of a visit of `assent watch`, and what was observed in it.

mod choice;
mod extension;
mod kinds;
mod named;
mod observation;
mod page;
mod passing;
mod steps;
mod storage;
mod tag;
mod webrtc;

pub use kinds::Visit;
pub use named::{Element, Named, is_kept};
pub use observation::{Observation, Screenshot, StoredValue};
pub use steps::{Setting, observe};
