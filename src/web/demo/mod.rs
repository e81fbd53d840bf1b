//! The demo: a consent tag for any host, created on a shared account, and a page to try it.

pub mod form;
pub mod routes;
