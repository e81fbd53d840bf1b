use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use super::Head;
use crate::error::Result;

pub struct StoredWitness {
    pub witness: String,
    pub known_size: i64,
    /// The latest checkpoint that it cosigned, without signatures; empty before the first.
    pub text: String,
    pub line: String,
    pub cosigned_at: Option<DateTime<Utc>>,
    pub failures: i32,
    pub not_before: DateTime<Utc>,
}

impl StoredWitness {
    /// The size at which it has seen the log of this name, as far as is known.
    pub fn size_of(&self, origin: &str) -> i64 {
        let is_of_another = !self.text.is_empty() && self.text.lines().next() != Some(origin);
        if is_of_another { 0 } else { self.known_size }
    }
}

pub async fn list_witnesses(connection: &mut PgConnection) -> Result<Vec<StoredWitness>> {
    let stored = query_as!(
        StoredWitness,
        "SELECT witness, known_size, text, line, cosigned_at, failures, not_before
         FROM log_witnesses",
    )
    .fetch_all(connection)
    .await?;
    Ok(stored)
}

pub struct Cosigned<'a> {
    pub witness: &'a str,
    pub size: i64,
    pub text: &'a str,
    pub line: &'a str,
    pub at: DateTime<Utc>,
}

/// Does nothing if the witness has cosigned a larger state of the same log. The first line of a text names the log.
pub async fn upsert_cosigned(connection: &mut PgConnection, new: &Cosigned<'_>) -> Result<()> {
    query!(
        "INSERT INTO log_witnesses
             (witness, known_size, text, line, cosigned_at, failures, not_before)
         VALUES ($1, $2, $3, $4, $5, 0, $5)
         ON CONFLICT (witness) DO UPDATE
         SET known_size = excluded.known_size, text = excluded.text, line = excluded.line,
             cosigned_at = excluded.cosigned_at, failures = 0, not_before = excluded.not_before
         WHERE log_witnesses.known_size <= excluded.known_size
            OR split_part(log_witnesses.text, chr(10), 1) <> split_part(excluded.text, chr(10), 1)",
        new.witness,
        new.size,
        new.text,
        new.line,
        new.at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn upsert_failure(
    connection: &mut PgConnection,
    witness: &str,
    failures: i32,
    not_before: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO log_witnesses (witness, known_size, text, line, failures, not_before)
         VALUES ($1, 0, '', '', $2, $3)
         ON CONFLICT (witness) DO UPDATE
         SET failures = excluded.failures, not_before = excluded.not_before",
        witness,
        failures,
        not_before,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find_published(connection: &mut PgConnection) -> Result<Head> {
    let published =
        query_as!(Head, "SELECT size, checkpoint FROM log_published").fetch_one(connection).await?;
    Ok(published)
}

pub async fn lock_published(connection: &mut PgConnection) -> Result<Head> {
    let published = query_as!(Head, "SELECT size, checkpoint FROM log_published FOR UPDATE")
        .fetch_one(connection)
        .await?;
    Ok(published)
}

pub async fn update_published(connection: &mut PgConnection, head: &Head) -> Result<()> {
    query!("UPDATE log_published SET size = $1, checkpoint = $2", head.size, head.checkpoint)
        .execute(connection)
        .await?;
    Ok(())
}
