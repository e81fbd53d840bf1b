//! Servers of customers' hosts: DNS, HTTPS, install checks, host claims, failing endpoints.

pub mod bad_servers;
pub mod claims;
pub mod dns;
pub mod https_site;
pub mod install;
