//! Billing: what an account costs, hosted checkout, and what the payment provider reports.
//!
//! The provider is the only one who knows what is paid. Success page and webhook both ask it and
//! write down the same facts, so neither their order nor their repetition nor the loss of one
//! makes a difference.

pub mod cancelling;
pub mod capabilities;
pub mod checkout;
pub mod checkout_return;
pub mod operator;
pub mod payer;
pub mod payment_failed;
pub mod portal;
pub mod quote;
pub mod service;
pub mod settlement;
pub(crate) mod store;
pub mod stripe;
pub mod webhook;
pub mod whoami;
