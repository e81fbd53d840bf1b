pub mod owners_mail;
pub mod preferences;
pub mod safety;
pub(super) mod store;
pub mod switch;
pub mod trial_ending;
pub mod unsubscribing;
pub mod weekly;
