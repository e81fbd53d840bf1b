//! Accounts: signing up, confirming an address, and the credentials that prove who calls.

pub mod access;
pub mod account;
pub mod actor;
pub mod capabilities;
pub mod capability;
pub mod codes;
pub mod credentials;
pub mod demo;
pub mod event;
pub mod events;
pub mod input;
pub mod introduction;
pub mod keys;
pub mod limits;
pub mod mails;
pub mod members;
pub mod operator;
pub mod plans;
pub mod profile;
pub mod recheck;
pub mod scope;
pub mod service;
pub mod sessions;
pub mod sign_in;
pub mod signup;
pub(crate) mod store;
