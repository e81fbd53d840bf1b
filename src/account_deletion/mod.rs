pub mod deletion;
pub mod export;
mod lines;
mod store;
pub mod summary;
