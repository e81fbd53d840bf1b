pub mod badge;
pub mod daily;
pub mod given;
pub mod intake;
pub mod leaks;
pub mod mails;
pub mod proving;
pub mod reading;
mod running;
pub mod settings;
mod state;
mod store;
pub mod view;

pub use store::reports::{delete_reports, find_report, list_signed};
pub use store::sites::{find_site, list_broken};
