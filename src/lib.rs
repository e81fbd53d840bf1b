//! Assent: a consent and site-pixel service.
//!
//! Three transports (`api`, `mcp`, `web`) use one set of capabilities, each of which is defined
//! once, in its feature. The modules are listed from the lowest layer to the highest; a module uses
//! only those above it in this list (`tests/architecture`).

pub mod clock;
pub mod config;
pub mod error;
pub mod types;

pub mod infra;

pub mod proof;

pub mod accounts;
pub mod pixels;
pub mod policies;
pub mod receipts;

pub mod contacts;

pub mod erasure;

pub mod webhooks;

pub mod billing;

pub mod account_deletion;
pub mod delivery;
pub mod jobs;

pub mod app;

pub mod guide;
pub mod http;

pub mod api;
pub mod mcp;
pub mod web;

pub mod server;
