//! What can be asked for about accounts and their keys.

pub mod account;
pub mod accounts;
pub mod confirmation;
pub mod keys;
pub mod members;
pub mod sign_in;
