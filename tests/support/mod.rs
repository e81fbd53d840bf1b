//! Shared by the test crates: servers, fakes and clients. Every test has a server of its own on a free
//! port, a database of its own, and a clock that it moves.

pub mod account_codes;
pub mod consent;
pub mod console;
pub mod contact_shop;
pub mod contacts;
pub mod credentials;
pub mod mail;
pub mod oauth;
pub mod passkeys;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod scrape;
pub mod screenshots;
pub mod server;
pub mod setup;
pub mod shop;
pub mod sites;
pub mod snapshot;
pub mod story;
pub mod stripe;
pub mod tools;
pub mod transparency_log;
pub mod visitors;
pub mod waiting;
pub mod watch_reports;
pub mod webhooks;

pub use mail::{MailServer, fresh_address};
pub use process::Process;
pub use server::{Answer, App};
pub use shop::Shop;
pub use story::Account;
