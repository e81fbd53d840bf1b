//! Tests that take long: 100,000 rows and more, attacks of many seconds. `make test-long` runs them.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other test crates use the rest")]
mod support;

mod memory;

mod bad_servers;
mod contacts_day;
mod floods;
mod late_choices;
mod log_minute;
mod slow_readers;
mod tool_messages;
