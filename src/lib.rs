//! Assent: a consent and site-pixel service. Three transports (`api`, `mcp`, `web`) serve one set of
//! capabilities, each of which is defined once, in its feature. The modules are declared in layers, from the
//! lowest: a module uses only modules of the layers above it in this file. Blank lines separate the layers;
//! `tests/architecture` reads them here.

// Values, settings and errors, which do not use the rest.
pub mod clock;
pub mod config;
pub mod error;
pub mod types;

// The infrastructure of the service: database, mails, limits, caches.
pub mod infra;

// Requests that are carried out once.
pub mod once;

pub mod proof;

pub mod watch;

// The features.
pub mod accounts;

pub mod oauth;

pub mod pixels;

pub mod silence;

pub mod sharing;

pub mod policies;

pub mod receipts;

pub mod contacts;

pub mod erasure;

pub mod webhooks;

pub mod digest;

pub mod billing;

pub mod account_deletion;

// The scripts for visitors' browsers.
pub mod delivery;

pub mod jobs;

// The parts of the service as one state.
pub mod app;

// The modules that the transports share.
pub mod guide;
pub mod http;

// The transports.
pub mod api;
pub mod mcp;
pub mod web;

pub mod server;
