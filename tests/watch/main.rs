//! `assent watch`, with a browser on pages of several sites.
//!
//! Needs Chromium: `CHROMIUM` names it, else `chromium` in `PATH`. `scripts/with-postgres cargo test --test
//! watch` starts the PostgreSQL that the pages with a consent tag need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod choices;
mod formats;
mod hostile;
mod hostile_site;
mod identifiers;
mod leaks;
mod network;
mod node;
mod priority;
mod runs;
mod screenshots;
mod sites;
mod stopping;
mod submission;
mod tagged_pages;
mod verification;
mod ways;
