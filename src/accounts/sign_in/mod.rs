//! Signing in to the console: an address, then six digits from a mail.
//!
//! A sign-in belongs to the browser that began it, by a secret that only this browser holds. So the
//! digits are worth nothing elsewhere, and what others guess uses up only sign-ins of their own.
//! Whether an address is known is told to nobody: both get the same answer after the same work, and
//! looking it up and mailing happen after the answer, in a task of their own.

pub mod finish;
pub mod known_browser;
pub mod mail;
pub mod secrets;
pub mod sign_up;
pub mod start;
pub(crate) mod store;
