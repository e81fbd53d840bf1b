//! Putting choices into the log: all that were recorded since the last time become one entry, the root
//! of a tree of their leaves.
//!
//! What waits is known by a flag and not by a position, so that nothing is passed over, in whatever
//! order those who record commit. Nothing of a receipt is read or written here.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::task::spawn_blocking;

use super::format::entry;
use super::format::epoch::{Epoch, to_bytes};
use super::store::epochs::{self, NewEpoch};
use crate::error::{Error, Result};

/// So many choices come into the log with one entry at most; the rest waits for the next round.
const MOST: i64 = 1 << 20;

/// Puts the choices that wait into a tree of their own, which the entry with this number stands for.
/// `None` when none waits.
pub(super) async fn seal(
    connection: &mut PgConnection,
    number: i64,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let waiting = epochs::list_waiting_leaves(connection, MOST).await?;
    if waiting.hashes.is_empty() {
        return Ok(None);
    }
    let leaves = waiting.hashes;
    // As long as a tenth of a second for a hundred thousand, which nobody else is to wait for.
    let epoch = spawn_blocking(move || Epoch::of(&leaves)).await.map_err(Error::internal)?;
    let groups = epoch.groups.iter().map(|group| to_bytes(group)).collect::<Vec<_>>();
    let new =
        NewEpoch { entry: number, sealed_at: now, seed: &epoch.seed, tops: &epoch.tops.concat() };
    epochs::insert_epoch(connection, &new, &groups).await?;
    epochs::update_sealed(connection, number, &waiting.batches).await?;
    Ok(Some(entry::choices(&epoch.root(), now)))
}
