//! The console and the pages for people, as HTML and forms.
//!
//! `scripts/with-postgres cargo test --test console` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod account;
mod account_switching;
mod addresses;
mod agencies;
mod audit_log;
mod choices;
mod contacts;
mod erasure_requests;
mod evidence;
mod install;
mod language_and_time_zone;
mod lapsed;
mod members;
mod moving;
mod notice_history;
mod overview;
mod pages;
mod passkeys;
mod people;
mod popup;
mod restricted_members;
mod screenshots;
mod search;
mod sessions;
mod settings_and_deletion;
mod sharing;
mod sign_in;
mod site_switcher;
mod site_time_zone;
mod sites;
mod suppressions;
mod test_tag;
mod watch;
mod watchers;
mod webhooks;
