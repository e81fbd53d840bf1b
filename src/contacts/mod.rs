//! Contacts: the people that were resolved on a pixel's site, and how many a plan includes.

pub mod allowance;
pub mod capabilities;
pub mod contact;
pub mod counts;
pub mod erasure;
pub mod intake;
pub mod reading;
pub mod service;
pub(crate) mod store;
pub mod suppressions;
pub mod withdrawal;
pub mod withdrawn;
