//! Receipts: the signed answers of visitors, and consent checks.

pub mod capabilities;
pub mod check;
mod cluster;
pub mod daily_counts;
pub mod days;
pub mod export;
pub mod history;
pub mod log;
pub mod log_query;
pub mod notice_snapshot;
pub mod proofs;
pub mod receipt;
pub mod record;
pub mod records;
pub mod service;
pub mod signing;
pub mod storage;
pub(crate) mod store;
pub mod table;
