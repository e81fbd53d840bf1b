//! Help for owners of sites, the operator's address, and the state of the service.

mod articles;
pub mod as_markdown;
mod pages;
pub mod routes;
