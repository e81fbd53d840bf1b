//! What every black-box test stands on.

pub mod consent;
pub mod contacts;
pub mod credentials;
pub mod database;
pub mod https_site;
pub mod install;
pub mod mail;
pub mod outage;
pub mod process;
pub mod replica;
pub mod scrape;
pub mod server;
pub mod setup;
pub mod shop;
pub mod snapshot;
pub mod story;
pub mod stripe;
pub mod tools;
pub mod visitors;

pub use mail::{MailServer, fresh_address};
pub use process::Process;
pub use server::{Answer, App};
pub use shop::Shop;
pub use story::Account;
