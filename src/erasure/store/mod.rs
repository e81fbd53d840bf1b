//! The SQL of requests for erasure.

mod mails;
mod requests;

pub use mails::*;
pub use requests::*;
