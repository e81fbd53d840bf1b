//! The SQL of whether pixels are used, and of those that never were.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::types::ids::{AccountId, PixelId};

/// Notes the first sign of use. News of it are of no use to anybody.
pub async fn update_in_use(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET in_use_since = $2 WHERE pixel_id = $1 AND in_use_since IS NULL",
        pixel_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that a check has proved the pixel to be its site's.
pub async fn update_proven(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET proven_at = $2, in_use_since = COALESCE(in_use_since, $2)
         WHERE pixel_id = $1",
        pixel_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Whether visitors used the pixel since a time, at the host that it has now: a receipt, a shown popup
/// or a check that found its snippet. An older version of the program notes successful checks in the
/// status alone.
pub async fn works_since(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    since: DateTime<Utc>,
) -> Result<bool> {
    let pixel = query!(
        "SELECT COALESCE(proven_at, CASE install_status WHEN 'installed' THEN checked_at END)
             AS proven_at, renamed_at
         FROM pixels WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(pixel) = pixel else { return Ok(false) };
    if pixel.proven_at.is_some_and(|proven_at| proven_at >= since) {
        return Ok(true);
    }
    let since = pixel.renamed_at.map_or(since, |renamed_at| renamed_at.max(since));
    let visited = query_scalar!(
        "SELECT EXISTS (SELECT FROM consent_receipts WHERE pixel_id = $1
                 AND consent_state IN ('accepted', 'declined', 'withdrawn') AND recorded_at >= $2)
             OR EXISTS (SELECT FROM consent_shown WHERE pixel_id = $1 AND shown_on > $3)
             AS \"visited!\"",
        pixel_id.as_str(),
        since,
        since.date_naive(),
    )
    .fetch_one(connection)
    .await?;
    Ok(visited)
}

/// Lets the days of pixels count that come from a version which did not count them.
pub async fn update_uncounted(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    query!(
        "UPDATE pixels SET unused_since = $1 WHERE unused_since IS NULL AND in_use_since IS NULL",
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The next pixels that seem unused since `until` or longer, in the order of their ids.
pub async fn list_seemingly_unused(
    connection: &mut PgConnection,
    until: DateTime<Utc>,
    after: &str,
    limit: i64,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\" FROM pixels
         WHERE in_use_since IS NULL AND unused_since <= $1 AND pixel_id > $2
         ORDER BY pixel_id LIMIT $3",
        until,
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

/// A pixel that nobody has used, whose owner is to be told.
pub struct UnusedPixel {
    pub pixel_id: PixelId,
    pub unused_since: DateTime<Utc>,
    pub ends_at: Option<DateTime<Utc>>,
}

/// Pixels unused since `until` or longer whose owners were not told yet; those whom no mail reached
/// so far come last. Operators' pixels and those of pipelines do not end.
pub async fn list_untold(
    connection: &mut PgConnection,
    until: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<UnusedPixel>> {
    let pixels = query_as!(
        UnusedPixel,
        "SELECT pixel_id, unused_since AS \"unused_since!\", ends_at
         FROM pixels JOIN accounts USING (account_id)
         WHERE in_use_since IS NULL AND unused_since <= $1 AND ending_told_at IS NULL
             AND pipeline IS NULL AND plan <> 'unlimited'
         ORDER BY ends_at NULLS FIRST, unused_since LIMIT $2",
        until,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixels)
}

/// What an owner is told of a pixel that is about to end.
pub struct EndingPixel {
    pub account_id: AccountId,
    pub domain: String,
    pub ends_at: DateTime<Utc>,
}

/// The pixel, while it is unused and about to end.
pub async fn find_ending(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<EndingPixel>> {
    let pixel = query_as!(
        EndingPixel,
        "SELECT account_id, domain, ends_at AS \"ends_at!\" FROM pixels
         WHERE pixel_id = $1 AND in_use_since IS NULL AND ends_at IS NOT NULL",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}

/// Takes the right to tell the owner; `false` when somebody else has, or the pixel is used by now.
pub async fn update_ending_told(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ends_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let updated = query!(
        "UPDATE pixels SET ending_told_at = $3, ends_at = $2
         WHERE pixel_id = $1 AND ending_told_at IS NULL AND in_use_since IS NULL",
        pixel_id.as_str(),
        ends_at,
        now,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() == 1)
}

/// Gives that right back: no mail has arrived.
pub async fn update_ending_untold(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<()> {
    query!("UPDATE pixels SET ending_told_at = NULL WHERE pixel_id = $1", pixel_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Pixels whose time is over.
pub async fn list_ended(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\" FROM pixels JOIN accounts USING (account_id)
         WHERE in_use_since IS NULL AND ends_at <= $1
             AND pipeline IS NULL AND plan <> 'unlimited'
         LIMIT $2",
        now,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

/// Locks a pixel that is still unused; whoever stores a contact for it is waited for.
pub async fn lock_unused(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let locked = query_scalar!(
        "SELECT true AS \"locked!\" FROM pixels
         WHERE pixel_id = $1 AND in_use_since IS NULL AND ends_at IS NOT NULL FOR UPDATE",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(locked.is_some())
}

/// Whether contacts were ever stored for the pixel.
pub async fn has_contacts(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM contact_counters WHERE pixel_id = $1) AS \"found!\"",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}
