//! The sites of all accounts of a person, and the accounts that an agency opens for clients.

pub mod all_sites;
pub mod another_account;
pub mod clients;
pub mod confirm;
mod site_rows;
