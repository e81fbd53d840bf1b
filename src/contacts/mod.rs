//! Contacts: the people that were resolved on a pixel's site, and how many a plan includes.

pub mod allowance;
pub mod contact;
pub mod erasure;
pub mod intake;
pub mod pause;
pub mod reading;
pub mod routes;
pub(crate) mod store;
pub mod turns;

pub use contact::{Contact, Hem, SeenAt};
