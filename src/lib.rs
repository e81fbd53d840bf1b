//! Assent: a consent and site-pixel service.
//!
//! Three doors (`api`, `mcp`, `web`) over one set of capabilities, each of which is defined once, in
//! its feature. The modules stand in the order in which they may use each other, from the ground up;
//! a room uses only what stands above it in this list (`tests/architecture` holds that).

// Leaves: know nothing of the rest.
pub mod clock;
pub mod config;
pub mod error;
pub mod types;

// What the service stands on.
pub mod infra;

// The public log of what is published.
pub mod proof;

// Features: what can be asked for.
pub mod accounts;
pub mod pixels;
pub mod policies;
pub mod receipts;

pub mod contacts;

pub mod erasure;

pub mod webhooks;

pub mod billing;

// What visitors' browsers load, and what runs by itself.
pub mod account_deletion;
pub mod delivery;
pub mod jobs;

// All of it put together, as one state.
pub mod app;

// The doors, and what they share.
pub mod guide;
pub mod http;

pub mod api;
pub mod mcp;
pub mod web;

pub mod server;
