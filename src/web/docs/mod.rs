//! The API's description: as OpenAPI 3.1 for programs, and as a page for people.

pub mod document;
mod event;
mod examples;
mod operation;
mod page;
mod prose;
pub mod routes;
mod schema;
mod tidy;
mod webhooks;

pub use document::ApiDescription;
