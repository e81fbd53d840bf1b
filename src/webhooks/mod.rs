//! Webhooks: customers' endpoints, deliveries to them, and their results. Features write events in
//! the transactions that cause them (`infra::events`). One node at a time sends an endpoint's
//! events (`sending`), signed according to standardwebhooks.com, with a body built from the current
//! state (`body`, `event_payload`).

pub mod body;
pub mod chat;
pub mod delivery;
pub mod endpoint;
pub mod endpoints;
pub mod event_payload;
pub mod format;
pub mod input;
pub mod kinds;
pub mod listing;
pub mod paused_mail;
pub mod pausing;
pub mod payload;
pub mod re_encryption;
pub mod replay;
pub mod secrets;
pub mod sending;
pub mod signing;
mod store;
pub mod trial;

pub use store::waiting::{delete_untried_deliveries, update_given_up_deliveries};
