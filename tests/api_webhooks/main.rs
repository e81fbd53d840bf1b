//! Customers' webhooks: configuration, events, deliveries.
//!
//! `scripts/with-postgres cargo test --test api_webhooks` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod configuration;
mod deliveries;
mod event_sources;
mod events;
mod examples;
mod failing_endpoints;
mod filters;
mod neighbours;
mod node_failures;
mod order;
mod re_encryption;
mod recipes;
mod retention;
mod secrecy;
