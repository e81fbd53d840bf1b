//! The deployment as it is shipped: the very files of `deploy/`, a real nginx before real nodes, a
//! real dump and restore.
//!
//! `scripts/with-postgres cargo test --test deploy` gives them the PostgreSQL they need.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they measured")]

#[path = "../support/postgres/cluster.rs"]
mod cluster;
#[path = "../support/postgres/database.rs"]
#[allow(dead_code, reason = "other test crates use the rest")]
mod database;
#[path = "../support/ports.rs"]
#[allow(dead_code, reason = "other test crates use the rest")]
mod ports;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "other test crates use the rest")]
mod process;
#[path = "../support/transparency_log/public_log.rs"]
#[allow(dead_code, reason = "other test crates use the rest")]
mod public_log;

#[path = "../long/memory.rs"]
mod memory;

mod fake_node;
mod proxy;
mod site;

mod compose;
mod log_restore;
mod many_nodes;
mod node_down;
mod point_in_time;
mod proxy_limits;
mod proxy_passing;
mod restore;
mod suppressions;
