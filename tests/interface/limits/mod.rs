//! Rate limits and fair queueing.

mod account_limits;
mod client_addresses;
mod fair_queueing;
mod rate_limits;
