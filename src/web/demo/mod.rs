//! The demo: a consent tag for any host, made on a shared account, and a page to click it on.

pub mod form;
pub mod routes;
