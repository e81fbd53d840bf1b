//! The weekly mail about the sites of an account, for owners who have turned it on.

pub mod mail;
pub mod sending;
mod site;
mod store;
