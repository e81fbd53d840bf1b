//! Pixels over HTTP: hosts, snippets, install checks.
//!
//! `scripts/with-postgres cargo test --test api_pixels` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod allowance_and_hosts;
mod creation;
mod daily_checks_after_requests;
mod email_snippet;
mod host_claims;
mod host_disputes;
mod install_check;
mod install_check_connections;
mod install_check_content;
mod install_check_limits;
mod install_check_tls;
mod install_evidence;
mod install_findings;
mod moves;
mod pipeline;
mod rename_and_delete;
mod scheduled_install_checks;
mod setup;
mod snippets;
mod stored_findings;
mod unused_pixels;
mod vanished_tag_mails;
