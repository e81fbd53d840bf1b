//! Accounts for clients: a person at an agency offers an account; the client confirms it, owns it and pays for
//! it. Any signed-in person may make offers, regardless of role. They are recorded in the person's first account
//! only, so that other accounts do not see them. Also opens further accounts for a signed-in person.

pub mod another_account;
pub mod client_mails;
pub mod confirming;
pub mod inviting;
pub mod own_invitations;
mod person;

pub use crate::accounts::store::{ClientInvitation, delete_expired_client_invitations};
