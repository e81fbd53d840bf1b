//! SQL for receipts.

pub mod builds;
pub mod counting;
pub mod counts;
pub mod days;
pub mod ends;
pub mod erasure;
pub mod history;
mod insertion;
pub mod latest;
pub mod latest_of_pixels;
pub mod leaves;
pub mod reading;
pub mod recording;
pub mod rows;
pub mod test_receipts;
pub mod user_actions;
