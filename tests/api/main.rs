//! Black-box tests: every test has a server of its own on a free port, a database of its own and
//! a clock that it moves by hand, and talks to the service as a client would.
//!
//! `scripts/with-postgres cargo test --test api` gives them the PostgreSQL they need.

mod support;

mod accounts;
mod billing;
mod checkout;
mod pixels;
mod webhook;
