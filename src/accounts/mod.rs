pub mod access;
pub mod account;
pub mod activity_log;
pub mod actor;
pub mod capability;
pub mod clients;
pub mod codes;
pub mod credentials;
pub mod demo;
pub mod event;
pub mod events;
pub mod grants;
pub mod input;
pub mod introduction;
pub mod keys;
pub mod limits;
pub mod mails;
pub mod members;
pub mod operator;
pub mod passkeys;
pub mod plans;
pub mod preferences;
pub mod profile;
pub mod recheck;
pub mod scope;
pub mod service;
pub mod sessions;
pub mod sign_in;
pub mod signup;
pub mod site_choice;
pub mod sites;
mod store;
pub mod tool;

pub use store::erasure::{delete_account_and_credentials, delete_code_requests};
pub use store::{
    EventSelection, delete_events_of, find_account, find_account_id_by_external_user_id,
    list_deleting, list_events, list_live_keys, list_members, lock_account, update_activated,
    update_deleting,
};
