//! The transport for JSON over HTTP. A route reads what was sent, calls a capability and formats its answer.

pub mod accounts;
pub mod billing;
pub mod consent;
pub mod contacts;
pub mod erasure;
pub mod health;
mod lists;
pub mod log;
pub mod oauth;
pub mod pixels;
pub mod proofs;
pub mod screenshots;
pub mod sharing;
pub mod silence;
pub mod suppressions;
pub mod visitors;
pub mod webhooks;
