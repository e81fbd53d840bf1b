//! Limits that all nodes share, and how long a caller waits.

pub mod buckets;
pub mod mailbox;
pub mod retry_after;
