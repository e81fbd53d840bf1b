pub mod buckets;
pub mod mailbox;
pub mod retry_after;
