//! What every black-box test stands on.

pub mod database;
pub mod mail;
pub mod server;
pub mod shop;
pub mod story;
pub mod stripe;

pub use mail::MailServer;
pub use server::{Answer, App, Settings};
pub use shop::Shop;
pub use story::Account;
