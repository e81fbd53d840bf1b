//! Time stamps (RFC 3161): once a day an authority of the operator's choice says that the signed state of
//! the log was there. Its token is kept as it came, and proofs carry it.
//!
//! Here is checked that a token is about our state and answers our question. Whether its signature is
//! good, and whose it is, `openssl ts -verify` judges for whoever trusts an authority.

mod authority;
mod der;
pub mod proving;
mod request;
pub mod stamped;
pub mod stamping;
mod time;
mod token;
