//! Policies: what visitors are told and asked, how the popup looks, and every version of it.

pub mod appearance;
pub mod capabilities;
pub mod configuration;
pub mod consent_request;
pub mod demo;
pub mod history;
pub mod notice;
pub mod notice_digests;
pub mod policy;
pub mod published;
pub mod revision;
pub mod sites;
pub(crate) mod store;
