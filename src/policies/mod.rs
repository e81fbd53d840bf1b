pub mod appearance;
pub mod configuration;
pub mod configured;
pub mod consent_request;
pub mod demo;
pub mod history;
pub mod notice;
pub mod notice_digests;
pub mod policy;
mod publication_limit;
pub mod published;
pub mod revision;
pub mod screenshots;
pub mod sharing;
pub mod sites;
mod store;
pub mod turning_off;

pub use store::{PolicyVersion, find_policy_by_hash, list_policies};
