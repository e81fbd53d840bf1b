//! What an account takes along, and how it ends.

pub mod deletion;
pub mod export;
mod lines;
mod store;
pub mod summary;
