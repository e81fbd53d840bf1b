//! Billing: prices, hosted checkout, and the events of the payment provider. The provider is the
//! only source for the state of payments. Success page and webhook both query it and store the same
//! facts, so order, repetition and loss of events do not matter.

pub mod cancelling;
pub mod checkout;
pub mod checkout_return;
pub mod operator;
pub mod payer;
pub mod payment_failed;
pub mod portal;
pub mod quote;
pub mod service;
pub mod settlement;
mod store;
pub mod stripe;
pub mod webhook;
pub mod whoami;

pub use store::list_subscriptions;
