//! The outbox and mail servers.

mod non_ascii_addresses;
mod odd_addresses;
mod outbox;
mod outbox_codes;
