pub mod deletion;
pub mod export;
mod lines;
pub mod mail;
mod store;
pub mod summary;
