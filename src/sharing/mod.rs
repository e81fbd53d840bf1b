//! Links that show the overview of a site to people without an account.

pub mod links;
pub mod opening;
mod store;
mod token;
pub mod view;

pub use store::{delete_expired, list_links};
