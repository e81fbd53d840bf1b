//! All routes and tools together: errors, limits, transports, documentation.
//!
//! `scripts/with-postgres cargo test --test interface` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod agents;
mod concurrent_requests;
mod cors;
mod documentation;
mod end_to_end;
mod errors;
mod field_errors;
mod fuzz;
mod idempotency;
mod languages;
mod limits;
mod lists;
mod named_fields;
mod negotiation;
mod neighbour_sites;
mod oauth;
mod tenancy;
mod transports;
