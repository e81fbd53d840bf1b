//! What every black-box test stands on.

pub mod authority;
pub mod bad_servers;
pub mod cluster;
pub mod consent;
pub mod console;
pub mod contact_shop;
pub mod contacts;
pub mod credentials;
pub mod database;
pub mod dns;
pub mod https_site;
pub mod install;
pub mod killable_database;
pub mod log;
pub mod mail;
pub mod outage;
pub mod process;
pub mod proofs;
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
pub mod webhooks;
pub mod witnesses;

pub use mail::{MailServer, fresh_address};
pub use process::Process;
pub use server::{Answer, App};
pub use shop::Shop;
pub use story::Account;
