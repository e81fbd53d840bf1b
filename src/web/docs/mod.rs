//! The API's description: as OpenAPI 3.1 for programs, and as a page for people.

pub mod document;
mod error_uses;
mod event;
mod examples;
mod lists;
mod older;
mod operation;
mod page;
mod prose;
mod repeats;
pub mod routes;
mod schema;
mod tags;
mod tidy;
pub mod topics;
mod webhooks;

pub use document::ApiDescription;
