//! The SQL of recording and checking where tables are spread over several machines: the statements of
//! `recording` and `latest`, each for pixels of one part of the tables.
//!
//! A statement that names pixels of one part goes to one machine as it is, and what one machine commits is
//! there for all as soon as it has answered. One for several parts would be taken apart on the way, could
//! not say what it left out, and would be committed on every machine at a time of its own: a withdrawal
//! that was acknowledged could be missing from the next check.
//!
//! `pixel_id = ANY ($1)` says which part is meant; what stands beside it says which pixel.

mod insertion;
pub mod latest;
pub mod recording;

use std::collections::BTreeSet;

/// Each pixel once.
fn pixels_of(pixel_ids: impl Iterator<Item = impl Into<String>>) -> Vec<String> {
    pixel_ids.map(Into::into).collect::<BTreeSet<_>>().into_iter().collect()
}
