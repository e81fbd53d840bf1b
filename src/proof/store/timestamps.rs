use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::{Error, Result};

/// Claims the next attempt, and returns the failures; `None` if it is not due or another node was first.
pub async fn take_lease(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    day: NaiveDate,
    until: DateTime<Utc>,
) -> Result<Option<i32>> {
    let failures = query_scalar!(
        "UPDATE log_stamping SET next_at = $3
         WHERE next_at <= $1 AND NOT EXISTS (SELECT FROM log_timestamps WHERE day = $2)
         RETURNING failures",
        now,
        day,
        until,
    )
    .fetch_optional(connection)
    .await?;
    Ok(failures)
}

pub async fn update_lease(
    connection: &mut PgConnection,
    next_at: DateTime<Utc>,
    failures: i32,
) -> Result<()> {
    query!("UPDATE log_stamping SET next_at = $1, failures = $2", next_at, failures)
        .execute(connection)
        .await?;
    Ok(())
}

pub struct NewTimestamp<'a> {
    pub day: NaiveDate,
    pub signer: &'a str,
    pub size: i64,
    pub checkpoint: &'a str,
    pub token: &'a [u8],
    pub received_at: DateTime<Utc>,
}

/// Does nothing if that day already has a timestamp.
pub async fn insert_timestamp(connection: &mut PgConnection, new: &NewTimestamp<'_>) -> Result<()> {
    query!(
        "INSERT INTO log_timestamps (day, signer, size, checkpoint, token, received_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (day) DO NOTHING",
        new.day,
        new.signer,
        new.size,
        new.checkpoint,
        new.token,
        new.received_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct Timestamp {
    pub size: u64,
    pub checkpoint: String,
    pub token: Vec<u8>,
}

/// The earliest timestamp of a state that this key signed and that contains the entry.
pub async fn find_timestamp(
    connection: &mut PgConnection,
    signer: &str,
    entry: i64,
) -> Result<Option<Timestamp>> {
    struct Row {
        size: i64,
        checkpoint: String,
        token: Vec<u8>,
    }
    let row = query_as!(
        Row,
        "SELECT size, checkpoint, token FROM log_timestamps
         WHERE size > $2 AND signer = $1 ORDER BY size, day LIMIT 1",
        signer,
        entry,
    )
    .fetch_optional(connection)
    .await?;
    row.map(|Row { size, checkpoint, token }| {
        let size = u64::try_from(size).map_err(Error::internal)?;
        Ok(Timestamp { size, checkpoint, token })
    })
    .transpose()
}
