//! `assent watch`, with a browser on pages of several sites.
//!
//! Needs Chromium: `CHROMIUM` names it, else `chromium` in `PATH`. `scripts/with-postgres cargo test --test
//! watch` starts the PostgreSQL that the pages with a consent tag need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod browser_scripts;
mod choices;
mod formats;
mod gpc;
mod hostile;
mod hostile_site;
mod identifiers;
mod incomplete_reports;
mod incomplete_storage;
mod isolation;
mod leaks;
mod network;
mod node;
mod own_pages;
mod priority;
mod protocols;
mod runs;
mod scheduling;
mod screenshots;
mod silent_sites;
mod sites;
mod stopping;
mod submission;
mod tagged_pages;
mod unanswered;
mod verification;
mod ways;
