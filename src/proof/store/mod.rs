pub mod epochs;
pub mod reported_files;
pub mod timestamps;
pub mod witnesses;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::format::entry::Kind;
use crate::error::Result;

/// The advisory lock for appending to the log: an arbitrary number that is used nowhere else.
const APPENDING: i64 = 0x0a55_e117_106a;

pub async fn insert_publications(
    connection: &mut PgConnection,
    kind: Kind,
    hashes: &[Vec<u8>],
    at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "INSERT INTO publications (kind, sha256, published_at)
         SELECT $1, sha256, $3 FROM unnest($2::bytea[]) AS new (sha256)
         ON CONFLICT (kind, sha256) DO NOTHING",
        kind.as_str(),
        hashes,
        at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes the lock until the end of the transaction; `false` if another node holds it.
pub async fn take_lock(connection: &mut PgConnection) -> Result<bool> {
    let taken = query_scalar!("SELECT pg_try_advisory_xact_lock($1) AS \"taken!\"", APPENDING)
        .fetch_one(connection)
        .await?;
    Ok(taken)
}

pub struct Head {
    pub size: i64,
    /// Empty before the first signature.
    pub checkpoint: String,
}

pub async fn find_head(connection: &mut PgConnection) -> Result<Head> {
    let head =
        query_as!(Head, "SELECT size, checkpoint FROM log_head").fetch_one(connection).await?;
    Ok(head)
}

/// Replaces the head; `false` if the log no longer has the old size.
pub async fn update_head(
    connection: &mut PgConnection,
    old_size: i64,
    head: &Head,
) -> Result<bool> {
    let updated = query!(
        "UPDATE log_head SET size = $2, checkpoint = $3 WHERE size = $1",
        old_size,
        head.size,
        head.checkpoint,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() == 1)
}

pub struct Waiting {
    pub kind: String,
    pub sha256: Vec<u8>,
    pub published_at: Option<DateTime<Utc>>,
}

/// Pending publications, except kinds of a newer version, which a node of that version appends.
pub async fn list_waiting(connection: &mut PgConnection, limit: i64) -> Result<Vec<Waiting>> {
    let kinds = Kind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect::<Vec<_>>();
    let waiting = query_as!(
        Waiting,
        "SELECT kind, sha256, published_at FROM publications
         WHERE entry IS NULL AND kind = ANY($2)
         ORDER BY published_at NULLS FIRST, kind, sha256 LIMIT $1",
        limit,
        &kinds,
    )
    .fetch_all(connection)
    .await?;
    Ok(waiting)
}

pub async fn list_entries(
    connection: &mut PgConnection,
    kind: Kind,
    hashes: &[Vec<u8>],
) -> Result<Vec<(Vec<u8>, i64)>> {
    let found = query!(
        "SELECT sha256, entry AS \"entry!\" FROM publications
         WHERE kind = $1 AND sha256 = ANY($2) AND entry IS NOT NULL",
        kind.as_str(),
        hashes,
    )
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(|row| (row.sha256, row.entry)).collect())
}

pub async fn update_entries(
    connection: &mut PgConnection,
    added: &[Waiting],
    first: i64,
) -> Result<()> {
    let kinds = added.iter().map(|waiting| waiting.kind.clone()).collect::<Vec<_>>();
    let hashes = added.iter().map(|waiting| waiting.sha256.clone()).collect::<Vec<_>>();
    query!(
        "UPDATE publications SET entry = $3 + new.place - 1
         FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS new (kind, sha256, place)
         WHERE publications.kind = new.kind AND publications.sha256 = new.sha256",
        &kinds,
        &hashes,
        first,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct StoredTile {
    pub level: i16,
    pub tile: i64,
    pub bytes: Vec<u8>,
}

pub async fn list_tiles(
    connection: &mut PgConnection,
    ids: &[(i16, i64)],
) -> Result<Vec<StoredTile>> {
    let (levels, tiles): (Vec<_>, Vec<_>) = ids.iter().copied().unzip();
    let stored = query_as!(
        StoredTile,
        "SELECT level, tile, bytes FROM log_tiles
         WHERE (level, tile) IN (SELECT * FROM unnest($1::smallint[], $2::bigint[]))",
        &levels,
        &tiles,
    )
    .fetch_all(connection)
    .await?;
    Ok(stored)
}

pub async fn find_tile(
    connection: &mut PgConnection,
    level: i16,
    tile: i64,
) -> Result<Option<Vec<u8>>> {
    let bytes =
        query_scalar!("SELECT bytes FROM log_tiles WHERE level = $1 AND tile = $2", level, tile,)
            .fetch_optional(connection)
            .await?;
    Ok(bytes)
}

pub async fn upsert_tiles(connection: &mut PgConnection, tiles: &[StoredTile]) -> Result<()> {
    let levels = tiles.iter().map(|tile| tile.level).collect::<Vec<_>>();
    let numbers = tiles.iter().map(|tile| tile.tile).collect::<Vec<_>>();
    let bytes = tiles.iter().map(|tile| tile.bytes.clone()).collect::<Vec<_>>();
    query!(
        "INSERT INTO log_tiles (level, tile, bytes)
         SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
         ON CONFLICT (level, tile) DO UPDATE SET bytes = excluded.bytes",
        &levels,
        &numbers,
        &bytes,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The number of a publication's entry; `None` if it is not in the log yet.
pub async fn find_entry(
    connection: &mut PgConnection,
    kind: &str,
    sha256: &[u8],
) -> Result<Option<i64>> {
    let entry = query_scalar!(
        "SELECT entry FROM publications WHERE kind = $1 AND sha256 = $2",
        kind,
        sha256,
    )
    .fetch_optional(connection)
    .await?;
    Ok(entry.flatten())
}
