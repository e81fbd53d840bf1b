//! Pages outside the console.

mod demo;
mod error_pages;
mod indexing;
mod legal_pages;
mod public_pages;
