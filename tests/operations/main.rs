//! The service as operators run it: the program, its database, its mails, several nodes.
//!
//! `scripts/with-postgres cargo test --test operations` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod database;
mod invalidation;
mod mails;
mod nodes;
mod program;
mod retention;
