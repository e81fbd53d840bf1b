//! Contacts: the people that were resolved on a pixel's site, and how many a plan includes.

pub mod account_locks;
pub mod admission;
pub mod allowance;
pub mod allowance_mails;
pub mod capabilities;
pub mod contact;
pub mod counts;
pub mod coverage;
pub mod erasure;
pub mod finding;
pub mod incoming;
pub mod intake;
pub mod judging;
pub mod pages;
pub mod pause;
pub mod reading;
pub mod selection;
pub mod service;
pub(crate) mod store;
pub mod suppressions;
pub mod table;
pub mod withdrawal;
pub mod withdrawn;
