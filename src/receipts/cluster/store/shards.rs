//! SQL for the shard of a pixel, on a cluster. Only the Citus extension has these tables and functions, so
//! these queries cannot be checked at compile time.

use sqlx::{PgConnection, query_as, query_scalar};

use crate::error::Result;

/// The lowest hash of each shard, in order: the same for all distributed tables of this program. Empty if
/// nothing is distributed.
pub async fn list_starts(connection: &mut PgConnection) -> Result<Vec<i32>> {
    let has_shards = query_scalar!("SELECT to_regclass('pg_dist_shard') IS NOT NULL AS \"has!\"")
        .fetch_one(&mut *connection)
        .await?;
    if !has_shards {
        return Ok(Vec::new());
    }
    let starts = query_scalar(
        "SELECT DISTINCT shardminvalue::integer AS start FROM pg_dist_shard
         WHERE logicalrelid IN ('consent_changes'::regclass, 'consent_receipts'::regclass)
             AND shardminvalue IS NOT NULL ORDER BY start",
    );
    Ok(starts.fetch_all(connection).await?)
}

/// The hashes of pixels by their ids. They never change.
pub async fn list_hashes(
    connection: &mut PgConnection,
    pixel_ids: &[&str],
) -> Result<Vec<(String, i32)>> {
    let hashes = query_as(
        "SELECT pixel_id, worker_hash(pixel_id) FROM unnest($1::text[]) AS asked (pixel_id)",
    );
    Ok(hashes.bind(pixel_ids).fetch_all(connection).await?)
}
