pub mod capabilities;
pub mod deletion;
pub mod export;
mod store;
pub mod summary;
