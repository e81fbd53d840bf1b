//! Mails to the owner of an account: which of them are wanted, and how they are turned off.

pub mod delivery;
pub mod owners_mail;
pub mod preferences;
pub mod safety;
pub(crate) mod store;
pub mod switch;
pub mod trial_ending;
pub mod unsubscribing;
