pub mod allowance;
pub mod contact;
pub mod counts;
pub mod erasure;
pub mod intake;
pub mod people;
pub mod reading;
pub mod service;
mod store;
pub mod suppressions;
pub mod withdrawal;
pub mod withdrawn;

pub use store::reading::list_contacts;
pub use store::withdrawn::{delete_old_withdrawn, list_withdrawn_of};
