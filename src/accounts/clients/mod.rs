//! Accounts for clients: an agency's person asks, the client confirms, owns the account and pays for it.
//! What a person asks for does not depend on the role in any account; it is recorded in the first account
//! of the person, so that other accounts do not learn of it. Also further accounts of the person.

pub mod another_account;
pub mod client_mails;
pub mod confirming;
pub mod inviting;
pub mod own_invitations;
mod person;

pub use crate::accounts::store::{ClientInvitation, delete_expired_client_invitations};
