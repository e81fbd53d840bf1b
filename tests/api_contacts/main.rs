//! Contacts and suppressions over HTTP.
//!
//! `scripts/with-postgres cargo test --test api_contacts` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod acceptances_by_persons;
mod allowance;
mod bound_contacts;
mod bound_contacts_concurrency;
mod change_cursor;
mod cursor;
mod intake;
mod routes;
mod sample;
mod suppression_imports;
mod suppressions;
mod unchanged_objects;
mod withdrawn;
