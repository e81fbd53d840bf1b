//! Signing in to the console with an address and six mailed digits. A sign-in belongs to the browser that
//! began it, which holds a secret. So the digits are useless elsewhere, and guesses count only against the
//! guesser's own sign-ins. Known and unknown addresses get the same answer after the same work; looking an
//! address up and mailing happen afterwards, in a separate task.

pub mod attempt;
pub mod finish;
pub mod known_browser;
pub mod mail;
pub mod opening;
pub mod pending;
pub mod proof;
pub mod renewal;
pub mod secrets;
pub mod sign_up;
pub mod start;
pub(super) mod store;
pub mod with_key;

pub use store::{delete_expired, delete_of_address};
