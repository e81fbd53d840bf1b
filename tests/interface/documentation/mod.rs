//! The documentation is true: descriptions, examples, guides.

mod docs_page;
mod example_world;
mod examples;
mod guide;
mod openapi;
mod readme;
mod security;
mod topics;
