//! Assent: a consent and site-pixel service. Three transports (`api`, `mcp`, `web`) serve one set of
//! capabilities, each of which is defined once, in its feature. The modules are declared in layers, the lowest layer
//! first. Blank lines separate the layers, and a module may use only modules that are declared in an earlier block. The
//! diagram in docs/ARCHITECTURE.md shows the highest layer first. `tests/architecture` reads the layers here.

// Values, settings and errors, which use no other layer.
pub mod clock;
pub mod config;
pub mod error;
pub mod types;

// The infrastructure of the service: database, mails, limits, caches.
pub mod infra;

// Idempotency keys.
pub mod idempotency;

pub mod proof;

// The analysis of the home pages of sites.
pub mod page_analysis;

// `assent watch`: the browser, the visits to pages, the verdicts on them, and the reports.
pub mod browser;

pub mod visit;

pub mod verdict;

pub mod watch;

// The features.
pub mod accounts;

pub mod oauth;

pub mod pixels;

pub mod silence;

pub mod sharing;

pub mod consent_receipt;
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

// The components of the service as one state.
pub mod app;

// The modules that the transports share.
pub mod guide;
pub mod http;

// The messages of the tool server.
pub mod tool_calls;

// The transports.
pub mod api;
pub mod mcp;
pub mod web;

pub mod server;
