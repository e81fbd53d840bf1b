//! Pages outside the console.

mod demo;
mod demo_preview;
mod error_pages;
mod help;
mod indexing;
mod legal_pages;
mod public_pages;
