//! What every black-box test stands on.

pub mod database;
pub mod mail;
pub mod server;
pub mod story;

pub use mail::MailServer;
pub use server::{Answer, App, Settings};
pub use story::Account;
