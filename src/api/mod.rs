//! Door 1: JSON over HTTP. A route reads what was sent, calls a capability and shapes its answer.

pub mod account;
pub mod account_mails;
pub mod accounts;
pub mod address_change;
pub mod billing;
pub mod claims;
pub mod consent;
pub mod contacts;
pub mod erasure;
pub mod health;
mod install_method;
pub mod keys;
pub mod leaving;
pub mod links;
pub mod log;
pub mod members;
pub mod pixels;
pub mod proofs;
pub mod scripts;
pub mod suppressions;
pub mod unsubscribe;
pub mod visit;
pub mod visitors;
pub mod webhooks;
