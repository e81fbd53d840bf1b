//! Accounts: signing up, confirming an address, and the credentials that prove who calls.

pub mod account;
pub mod activation;
pub mod code_requests;
pub mod confirmation;
pub mod credentials;
pub mod demo;
pub mod email;
pub mod guards;
pub mod key_attempts;
pub mod key_issuing;
pub mod operator;
pub mod plans;
pub mod routes;
pub mod signup;
pub(crate) mod store;
pub mod token_renewal;

/// The id of the account that the demo page works for. It belongs to nobody.
pub const DEMO_ACCOUNT: &str = "acc_demo";

pub use account::{Account, Plan, Status};
pub use guards::Caller;
