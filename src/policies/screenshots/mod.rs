//! Screenshots of the popup, one per language and device for each form that it was given.

pub mod due;
pub mod of_choice;
pub mod reading;
mod store;
pub mod taken;
pub mod view;

pub use store::list_screenshots;
