use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;

/// Returns when the mailbox's bucket is full again, locked until the transaction ends. Inserts a
/// missing row, so that two concurrent first mails are counted one after the other.
pub async fn lock_mailbox(
    connection: &mut PgConnection,
    mailbox_hash: &[u8],
) -> Result<DateTime<Utc>> {
    let full_at = query_scalar!(
        "INSERT INTO mailboxes AS known (mailbox_hash, full_at) VALUES ($1, '1970-01-01')
         ON CONFLICT (mailbox_hash) DO UPDATE SET full_at = known.full_at
         RETURNING full_at",
        mailbox_hash,
    )
    .fetch_one(connection)
    .await?;
    Ok(full_at)
}

pub async fn update_mailbox(
    connection: &mut PgConnection,
    mailbox_hash: &[u8],
    full_at: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE mailboxes SET full_at = $2 WHERE mailbox_hash = $1", mailbox_hash, full_at,)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_mailbox(connection: &mut PgConnection, mailbox_hash: &[u8]) -> Result<u64> {
    let deleted = query!("DELETE FROM mailboxes WHERE mailbox_hash = $1", mailbox_hash)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}
