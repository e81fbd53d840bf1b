use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::types::ids::{PixelId, PixelRef};

/// Adds an alias unless it is an existing alias or canonical id.
pub async fn insert_alias(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    alias: &PixelRef,
) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO pixel_aliases (alias, pixel_id)
         SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM pixels WHERE pixel_id = $1)
         ON CONFLICT DO NOTHING",
        alias.as_str(),
        pixel_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn list_aliases(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Vec<PixelRef>> {
    let aliases = query_scalar!(
        "SELECT alias FROM pixel_aliases WHERE pixel_id = $1 ORDER BY position",
        pixel_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(aliases.into_iter().map(PixelRef::from).collect())
}

pub async fn find_first_alias(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<PixelRef> {
    let alias = query_scalar!(
        "SELECT alias FROM pixel_aliases WHERE pixel_id = $1 ORDER BY position LIMIT 1",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(PixelRef::from(alias))
}
