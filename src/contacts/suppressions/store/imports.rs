use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::contacts::suppressions::digests::Digests;
use crate::contacts::suppressions::entry::ImportStatus;
use crate::error::Result;
use crate::types::hem::Hem;
use crate::types::ids::AccountId;

/// The number of imports that are not completed, without uploads from before `since`.
pub async fn count_unfinished(
    connection: &mut PgConnection,
    account_id: &AccountId,
    since: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM suppression_imports
         WHERE account_id = $1 AND status <> 'done' AND (status <> 'uploading' OR created_at > $2)",
        account_id.as_str(),
        since,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn insert_import(
    connection: &mut PgConnection,
    import_id: Uuid,
    account_id: &AccountId,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO suppression_imports (import_id, account_id, status, created_at)
         VALUES ($1, $2, 'uploading', $3)",
        import_id,
        account_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn insert_chunk(
    connection: &mut PgConnection,
    import_id: Uuid,
    position: i32,
    chunk: &Digests,
) -> Result<()> {
    query!(
        "INSERT INTO suppression_chunks (import_id, position, hems, lines, rejected)
         VALUES ($1, $2, $3, $4, $5)",
        import_id,
        position,
        &chunk.hems as &[Hem],
        chunk.lines,
        chunk.rejected,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_uploaded(connection: &mut PgConnection, import_id: Uuid) -> Result<()> {
    query!(
        "UPDATE suppression_imports SET status = 'waiting', lines = (
             SELECT COALESCE(sum(lines), 0) FROM suppression_chunks WHERE import_id = $1)
         WHERE import_id = $1",
        import_id,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_import(connection: &mut PgConnection, import_id: Uuid) -> Result<()> {
    query!("DELETE FROM suppression_imports WHERE import_id = $1", import_id)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_imports(
    connection: &mut PgConnection,
    done_before: DateTime<Utc>,
    begun_before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM suppression_imports WHERE import_id IN (
             SELECT import_id FROM suppression_imports
             WHERE finished_at < $1 OR (status = 'uploading' AND created_at < $2) LIMIT $3)",
        done_before,
        begun_before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn find_import(
    connection: &mut PgConnection,
    account_id: &AccountId,
    import_id: Uuid,
) -> Result<Option<ImportStatus>> {
    let import = query_as!(
        ImportStatus,
        "SELECT import_id, status, lines, read, added, erased, rejected
         FROM suppression_imports
         WHERE account_id = $1 AND import_id = $2 AND status <> 'uploading'",
        account_id.as_str(),
        import_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(import)
}

/// The advisory lock for applying a step: an arbitrary number that is used nowhere else.
const APPLYING: i64 = 0x0a55_e117_1157;

/// Takes the lock until the transaction ends; `false` when another node has it.
pub async fn take_lock(connection: &mut PgConnection) -> Result<bool> {
    let taken = query_scalar!("SELECT pg_try_advisory_xact_lock($1) AS \"taken!\"", APPLYING)
        .fetch_one(connection)
        .await?;
    Ok(taken)
}

pub struct WaitingImport {
    pub import_id: Uuid,
    pub account_id: AccountId,
}

pub async fn find_waiting_import(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Option<WaitingImport>> {
    let import = query_as!(
        WaitingImport,
        "SELECT import_id, account_id FROM suppression_imports
         WHERE status = 'waiting' AND (retry_at IS NULL OR retry_at <= $1)
         ORDER BY turn LIMIT 1",
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(import)
}

/// Moves the import behind all others that are waiting.
pub async fn postpone(
    connection: &mut PgConnection,
    import_id: Uuid,
    retry_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE suppression_imports
         SET turn = nextval('suppression_import_turns'), retry_at = $2 WHERE import_id = $1",
        import_id,
        retry_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct Chunk {
    pub position: i32,
    pub hems: Vec<Hem>,
    pub lines: i64,
    pub rejected: i64,
    /// Whether its people are suppressed already and only have to be erased.
    pub suppressed: bool,
}

pub async fn find_next_chunk(
    connection: &mut PgConnection,
    import_id: Uuid,
) -> Result<Option<Chunk>> {
    let chunk = query_as!(
        Chunk,
        "SELECT position, hems AS \"hems: Vec<Hem>\", lines, rejected, suppressed
         FROM suppression_chunks WHERE import_id = $1 ORDER BY position LIMIT 1",
        import_id,
    )
    .fetch_optional(connection)
    .await?;
    Ok(chunk)
}

pub async fn update_chunk_suppressed(
    connection: &mut PgConnection,
    import_id: Uuid,
    position: i32,
    added: i64,
) -> Result<()> {
    query!(
        "WITH chunk AS (
             UPDATE suppression_chunks SET suppressed = true WHERE import_id = $1 AND position = $2)
         UPDATE suppression_imports SET added = added + $3 WHERE import_id = $1",
        import_id,
        position,
        added,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_chunk(
    connection: &mut PgConnection,
    import_id: Uuid,
    chunk: &Chunk,
    erased: i64,
) -> Result<()> {
    query!(
        "WITH chunk AS (DELETE FROM suppression_chunks WHERE import_id = $1 AND position = $2)
         UPDATE suppression_imports
         SET read = read + $3, rejected = rejected + $4, erased = erased + $5
         WHERE import_id = $1",
        import_id,
        chunk.position,
        chunk.lines,
        chunk.rejected,
        erased,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_done(
    connection: &mut PgConnection,
    import_id: Uuid,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE suppression_imports SET status = 'done', finished_at = $2 WHERE import_id = $1",
        import_id,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}
