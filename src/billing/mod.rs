//! Billing: what an account costs, hosted checkout, and what the payment provider reports.
//!
//! The provider is the only one who knows what is paid. Success page and webhook both ask it and
//! write down the same facts, so neither their order nor their repetition nor the loss of one
//! makes a difference.

pub mod checkout;
pub mod operator;
pub mod payer;
pub mod portal;
pub mod provider_objects;
pub mod quote;
pub mod routes;
pub mod settlement;
pub mod signature;
pub(crate) mod store;
pub mod stripe;
pub mod webhook;
pub mod webhook_events;
pub mod whoami;

pub use stripe::Stripe;
