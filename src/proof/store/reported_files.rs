use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;

/// The content of a state file, as its node has reported it.
pub struct ReportedFile {
    pub id: String,
    pub number: i64,
    pub size: i64,
    pub checkpoint: String,
    pub beat: i64,
}

pub async fn list_reported_files(connection: &mut PgConnection) -> Result<Vec<ReportedFile>> {
    let stored = query_as!(
        ReportedFile,
        "SELECT id, number, size, checkpoint, beat FROM log_memories ORDER BY id",
    )
    .fetch_all(connection)
    .await?;
    Ok(stored)
}

/// The report of a node on its state file.
pub struct FileReport<'a> {
    pub id: &'a str,
    pub number: i64,
    pub size: i64,
    pub checkpoint: &'a str,
    pub at: DateTime<Utc>,
}

/// Ignores a state that is smaller than the reported one, because the file was then restored from a copy.
pub async fn upsert_reported_file(
    connection: &mut PgConnection,
    new: &FileReport<'_>,
) -> Result<()> {
    query!(
        "INSERT INTO log_memories (id, number, size, checkpoint, beat, noted_at)
         VALUES ($1, $2, $3, $4, 1, $5)
         ON CONFLICT (id) DO UPDATE
         SET number = excluded.number, size = excluded.size, checkpoint = excluded.checkpoint,
             beat = log_memories.beat + 1, noted_at = excluded.noted_at
         WHERE (log_memories.number, log_memories.size) <= (excluded.number, excluded.size)",
        new.id,
        new.number,
        new.size,
        new.checkpoint,
        new.at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_reported_files_before(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
) -> Result<()> {
    query!("DELETE FROM log_memories WHERE noted_at < $1", before).execute(connection).await?;
    Ok(())
}

pub async fn delete_reported_files(connection: &mut PgConnection) -> Result<u64> {
    let deleted = query!("DELETE FROM log_memories").execute(connection).await?;
    Ok(deleted.rows_affected())
}
