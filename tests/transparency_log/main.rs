//! The public log, its witnesses, and proofs.
//!
//! `scripts/with-postgres cargo test --test transparency_log` starts the PostgreSQL that the tests need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "every test crate uses a part of it")]
mod support;

mod choices_in_the_log;
mod crashes;
mod external_audit;
mod external_clients;
mod proof_delay;
mod proof_vectors;
mod proofs;
mod proofs_export;
mod public_log;
mod renamed_log;
mod state_file;
mod tampered_proofs;
mod timestamps;
mod verify_command;
mod witness_command;
mod witnesses;
mod witnesses_against_forks;
