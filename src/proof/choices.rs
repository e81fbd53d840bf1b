//! Adds choices to the log: all choices since the last round become one entry, the root of a Merkle
//! tree of their leaves. The leaves are written in `receipts/store/insertion.rs` and
//! `receipts/store/leaves.rs`. Pending ones have no epoch yet, so that none is skipped, whatever the
//! commit order.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::task::spawn_blocking;

use super::format::entry;
use super::format::epoch::{Epoch, to_bytes};
use super::format::hashes;
use super::store::epochs::{self, NewEpoch};
use crate::error::{Error, Result};

const MOST: i64 = 1 << 20;

/// Builds a tree of the pending choices, whose root is the entry with this number. `None` without any.
pub(super) async fn append(
    connection: &mut PgConnection,
    number: i64,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let waiting = epochs::list_waiting_leaves(connection, MOST).await?;
    if waiting.hashes.is_empty() {
        return Ok(None);
    }
    let leaves = waiting.hashes;
    // This takes up to 100 ms for 100,000 leaves, so it must not block other tasks.
    let epoch = spawn_blocking(move || Epoch::of(&leaves)).await.map_err(Error::internal)?;
    let epoch = Arc::new(epoch);
    // The tree is hashed while PostgreSQL stores its leaves, because both take about the same time.
    let hashed = Arc::clone(&epoch);
    let hashing = spawn_blocking(move || hashed.tops());
    let groups = epoch.groups.iter().map(|group| to_bytes(group)).collect::<Vec<_>>();
    epochs::insert_groups(connection, number, &groups).await?;
    epochs::update_appended(connection, number, &waiting.batches).await?;
    let tops = hashing.await.map_err(Error::internal)?;
    let new = NewEpoch { entry: number, sealed_at: now, seed: &epoch.seed, tops: &tops.concat() };
    epochs::insert_epoch(connection, &new).await?;
    Ok(Some(entry::choices(&hashes::complete(&tops), now)))
}
