mod articles;
pub mod as_markdown;
mod pages;
pub mod routes;
