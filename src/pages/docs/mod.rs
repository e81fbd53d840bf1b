//! The API's description: as OpenAPI 3.1 for programs, and as a page for people.

pub mod document;
mod examples;
mod operation;
mod page;
pub mod routes;
mod schema;

pub use document::ApiDescription;
