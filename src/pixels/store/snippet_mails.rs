use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::types::ids::PixelId;

/// The time at which the pixel's snippet was last mailed, with the pixel's row locked until the
/// transaction ends. The outer `None` means that there is no such pixel.
pub async fn lock_snippet_mailed_at(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Option<DateTime<Utc>>>> {
    let mailed_at = query_scalar!(
        "SELECT snippet_mailed_at FROM pixels WHERE pixel_id = $1 FOR UPDATE",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(mailed_at)
}

pub async fn update_snippet_mailed(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    mailed_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET snippet_mailed_at = $2 WHERE pixel_id = $1",
        pixel_id.as_str(),
        mailed_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}
