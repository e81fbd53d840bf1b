//! Consent over HTTP: configuration, choices, checks, counts, exports, erasure.
//!
//! `scripts/with-postgres cargo test --test api_consent` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod acceptance_period;
mod check;
mod configuration;
mod consent_log;
mod consent_records;
mod csv_tables;
mod daily_counts;
mod daily_counts_concurrency;
mod earlier_policies;
mod erasure_of_people;
mod erasure_request_mails;
mod erasure_requests;
mod export;
mod impressions;
mod notice_page;
mod popup_off;
mod record;
mod record_origins;
mod screenshots;
mod scripts;
mod shared_choice;
mod shown_notice;
mod stats;
mod supervisory_authority;
mod test_hosts;
mod test_pixel_isolation;
mod test_pixels;
mod user_action;
mod verify;
mod visitor_history;
mod visitor_page;
