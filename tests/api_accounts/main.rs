//! Accounts over HTTP: signing up, keys, members, mails, billing, deletion.
//!
//! `scripts/with-postgres cargo test --test api_accounts` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod account;
mod account_deletion;
mod activation;
mod activity_log;
mod address_change;
mod billing;
mod keys;
mod mail_languages;
mod mail_preferences;
mod mailbox_limits;
mod members;
mod plan_mails;
mod security_mails;
mod signup;
mod weekly_digest;
