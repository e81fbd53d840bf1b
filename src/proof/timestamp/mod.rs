//! Timestamps (RFC 3161): once a day an authority chosen by the operator attests that the signed state of the
//! log existed. Its token is stored verbatim and included in proofs. This module checks that a token covers
//! our state and answers our request. The signature and the signer are left to `openssl ts -verify`, for
//! verifiers that trust an authority.

mod authority;
pub mod proving;
mod request;
pub mod stamped;
pub mod stamping;
mod time;
mod token;
