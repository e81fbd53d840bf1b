//! Receipts: the signed answers of visitors, and consent checks.

pub mod check;
pub mod cluster;
pub mod consent_log;
pub mod daily_counts;
pub mod days;
pub mod export;
pub mod export_consent;
pub mod history;
pub mod log_query;
pub mod proofs;
pub mod record;
pub mod records;
pub mod service;
pub mod storage;
mod store;
pub mod table;
pub mod test_choices;

pub(crate) use store::ends::with_end;
pub use store::erasure::{
    count_receipts_of_visitor, count_shown_of_visitor, delete_all_of_pixels,
    delete_receipts_of_visitor, delete_shown_of_visitor, find_canonical, list_pixels_ever,
    wait_for_recorders,
};
pub use store::latest::LatestConsent;
pub use store::latest_of_pixels::{PixelVisitor, list_latest};
pub use store::named_pixels::find_named;
pub use store::reading::{StoredReceipt, find_last_seq, list_receipts_after, list_receipts_at};
pub use store::test_receipts::delete_test_receipts_of_visitor;
pub use store::user_actions::list_by_persons;
