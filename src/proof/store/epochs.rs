use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::proof::format::hashes::Hash;

pub struct WaitingLeaves {
    pub hashes: Vec<Hash>,
    pub batches: Vec<(String, i64)>,
}

/// Pending leaves in whole batches, up to this number of leaves.
pub async fn list_waiting_leaves(
    connection: &mut PgConnection,
    most: i64,
) -> Result<WaitingLeaves> {
    let rows = query!(
        "SELECT pixel_id AS \"pixel_id!\", batch AS \"batch!\", hashes AS \"hashes!\"
         FROM (SELECT pixel_id, batch, hashes,
                   sum(octet_length(hashes)) OVER (ORDER BY batch, pixel_id) AS bytes
               FROM log_leaves WHERE epoch IS NULL) AS waiting
         WHERE bytes <= $1::bigint * 32",
        most,
    )
    .fetch_all(connection)
    .await?;
    let mut waiting = WaitingLeaves { hashes: Vec::new(), batches: Vec::with_capacity(rows.len()) };
    for row in rows {
        waiting.hashes.extend_from_slice(row.hashes.as_chunks::<32>().0);
        waiting.batches.push((row.pixel_id, row.batch));
    }
    Ok(waiting)
}

pub struct NewEpoch<'a> {
    pub entry: i64,
    pub sealed_at: DateTime<Utc>,
    pub seed: &'a Hash,
    pub tops: &'a [u8],
}

pub async fn insert_epoch(connection: &mut PgConnection, new: &NewEpoch<'_>) -> Result<()> {
    query!(
        "INSERT INTO log_epochs (entry, sealed_at, seed, groups) VALUES ($1, $2, $3, $4)",
        new.entry,
        new.sealed_at,
        &new.seed[..],
        new.tops,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn insert_groups(
    connection: &mut PgConnection,
    entry: i64,
    groups: &[Vec<u8>],
) -> Result<()> {
    query!(
        "INSERT INTO log_groups (entry, number, leaves)
         SELECT $1, place - 1, leaves FROM unnest($2::bytea[]) WITH ORDINALITY AS new (leaves, place)",
        entry,
        groups,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the position of these batches' leaves, and deletes the leaves themselves from the batches.
pub async fn update_appended(
    connection: &mut PgConnection,
    entry: i64,
    batches: &[(String, i64)],
) -> Result<()> {
    let (pixel_ids, numbers): (Vec<_>, Vec<_>) = batches.iter().cloned().unzip();
    query!(
        "UPDATE log_leaves SET epoch = $1, hashes = ''
         FROM unnest($2::text[], $3::bigint[]) AS sealed (pixel_id, batch)
         WHERE log_leaves.pixel_id = sealed.pixel_id AND log_leaves.batch = sealed.batch",
        entry,
        &pixel_ids,
        &numbers,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct StoredEpoch {
    pub seed: Vec<u8>,
    pub tops: Vec<u8>,
}

pub async fn find_epoch(connection: &mut PgConnection, entry: i64) -> Result<StoredEpoch> {
    let stored = query_as!(
        StoredEpoch,
        "SELECT seed, groups AS tops FROM log_epochs WHERE entry = $1",
        entry,
    )
    .fetch_one(connection)
    .await?;
    Ok(stored)
}

pub async fn find_group(connection: &mut PgConnection, entry: i64, number: i32) -> Result<Vec<u8>> {
    let leaves = query_scalar!(
        "SELECT leaves FROM log_groups WHERE entry = $1 AND number = $2",
        entry,
        number,
    )
    .fetch_one(connection)
    .await?;
    Ok(leaves)
}
