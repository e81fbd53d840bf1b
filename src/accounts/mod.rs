//! Accounts: signing up, confirming an address, and the credentials that prove who calls.

pub mod account;
pub mod confirmation;
pub mod credentials;
pub mod email;
pub mod guards;
pub mod operator;
pub mod routes;
pub mod signup;
pub(crate) mod store;

pub use account::{Account, Plan, Status};
pub use guards::Caller;
