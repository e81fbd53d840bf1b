//! Black-box tests: every test has a server of its own on a free port, a database of its own and
//! a clock that it moves by hand, and talks to the service as a client would.
//!
//! `scripts/with-postgres cargo test --test api` gives them the PostgreSQL they need.

mod support;

mod accounts;
mod accounts_more;
mod agents;
mod billing;
mod checkout;
mod cli;
mod configuration;
mod confirmation;
mod consent_check;
mod consent_configuration;
mod consent_more;
mod consent_record;
mod consent_verify;
mod contacts;
mod contacts_allowance;
mod contacts_cursor;
mod contacts_intake;
mod credentials;
mod demo;
mod description;
mod durability;
mod email_snippet;
mod emails;
mod embedded_postgres;
mod endurance;
mod errors;
mod fuzz;
mod guide;
mod install_check;
mod keys;
mod logging;
mod metrics;
mod monitoring;
mod nodes;
mod operator;
mod pages;
mod pipeline;
mod pixel_rename_delete;
mod pixel_setup;
mod pixels;
mod policy_page;
mod races;
mod rate_limits;
mod readme;
mod replica;
mod retention;
mod sample;
mod scaling;
mod scripts;
mod secrecy;
mod security;
mod shutdown;
mod snippets;
mod story;
mod tenancy;
mod torture;
mod unlimited_signup;
mod webhook;
