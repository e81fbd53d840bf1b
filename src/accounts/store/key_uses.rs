use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query};

use crate::error::Result;

pub async fn update_keys_used(
    connection: &mut PgConnection,
    key_hashes: &[Vec<u8>],
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE api_keys SET last_used_at = GREATEST(last_used_at, $2) WHERE key_hash = ANY($1)",
        key_hashes,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}
