//! SQL for the confirmation and use of pixels, and for pixels without either.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::types::ids::{AccountId, PixelId};

/// Records that a pixel was used, unless it is confirmed, which counts for more. The unused period starts
/// anew, and an earlier notice to the owner is void. No cache depends on it, so no invalidation is sent.
pub async fn update_used(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET unused_since = $2, ending_told_at = NULL, ends_at = NULL
         WHERE pixel_id = $1 AND confirmed_at IS NULL
             AND (unused_since IS NULL OR unused_since < $2)",
        pixel_id.as_str(),
        at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Records that the pixel was confirmed at its host. Nodes of an older version read the other columns.
pub async fn update_confirmed(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE pixels
         SET confirmed_at = $2, proven_at = $2, in_use_since = COALESCE(in_use_since, $2)
         WHERE pixel_id = $1",
        pixel_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_claim_token(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    token_hash: &[u8],
) -> Result<()> {
    query!(
        "UPDATE pixels SET claim_token_hash = $2 WHERE pixel_id = $1",
        pixel_id.as_str(),
        token_hash,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct Confirmation {
    pub confirmed_at: Option<DateTime<Utc>>,
    pub claim_token_hash: Option<Vec<u8>>,
}

pub async fn find_confirmation(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Confirmation>> {
    let found = query_as!(
        Confirmation,
        "SELECT confirmed_at, claim_token_hash FROM pixels WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}

/// The last receipt or impression of the pixel after a time; for an impression only the day is
/// known. Anybody can send both.
pub async fn find_last_visit(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    let visited_at = query_scalar!(
        "SELECT GREATEST(
             (SELECT max(recorded_at) FROM consent_receipts
              WHERE pixel_id = $1 AND consent_state = 'accepted' AND recorded_at > $2),
             (SELECT max(recorded_at) FROM consent_receipts
              WHERE pixel_id = $1 AND consent_state = 'declined' AND recorded_at > $2),
             (SELECT max(recorded_at) FROM consent_receipts
              WHERE pixel_id = $1 AND consent_state = 'withdrawn' AND recorded_at > $2),
             (SELECT max(shown_on)::timestamp AT TIME ZONE 'UTC' FROM consent_shown
              WHERE pixel_id = $1 AND shown_on > $3))",
        pixel_id.as_str(),
        after,
        after.date_naive(),
    )
    .fetch_one(connection)
    .await?;
    Ok(visited_at)
}

/// Starts the unused period of pixels that a version without this feature created.
pub async fn update_uncounted(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    query!(
        "UPDATE pixels SET unused_since = $1 WHERE unused_since IS NULL AND confirmed_at IS NULL",
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct SeeminglyUnused {
    pub pixel_id: PixelId,
    pub unused_since: DateTime<Utc>,
}

pub async fn list_seemingly_unused(
    connection: &mut PgConnection,
    until: DateTime<Utc>,
    after: &str,
    limit: i64,
) -> Result<Vec<SeeminglyUnused>> {
    let pixels = query_as!(
        SeeminglyUnused,
        "SELECT pixel_id, unused_since AS \"unused_since!\" FROM pixels
         WHERE confirmed_at IS NULL AND unused_since <= $1 AND pixel_id > $2
         ORDER BY pixel_id LIMIT $3",
        until,
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixels)
}

pub struct UnusedPixel {
    pub pixel_id: PixelId,
    pub unused_since: DateTime<Utc>,
    pub ends_at: Option<DateTime<Utc>>,
}

/// Pixels unused since `until` or longer whose owners were not notified, those after failed mails
/// last. Pixels of operators and pipelines are excluded.
pub async fn list_unnotified(
    connection: &mut PgConnection,
    until: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<UnusedPixel>> {
    let pixels = query_as!(
        UnusedPixel,
        "SELECT pixel_id, unused_since AS \"unused_since!\", ends_at
         FROM pixels JOIN accounts USING (account_id)
         WHERE confirmed_at IS NULL AND unused_since <= $1 AND ending_told_at IS NULL
             AND pipeline IS NULL AND plan <> 'unlimited'
         ORDER BY ends_at NULLS FIRST, unused_since LIMIT $2",
        until,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixels)
}

pub struct EndingPixel {
    pub account_id: AccountId,
    pub domain: String,
    pub ends_at: DateTime<Utc>,
}

pub async fn find_ending(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<EndingPixel>> {
    let pixel = query_as!(
        EndingPixel,
        "SELECT account_id, domain, ends_at AS \"ends_at!\" FROM pixels
         WHERE pixel_id = $1 AND confirmed_at IS NULL AND ends_at IS NOT NULL",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}

/// Claims the notification of the owner; `false` when another node has, or the pixel is used again.
pub async fn update_ending_notified(
    connection: &mut PgConnection,
    pixel: &UnusedPixel,
    ends_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let updated = query!(
        "UPDATE pixels SET ending_told_at = $3, ends_at = $2
         WHERE pixel_id = $1 AND ending_told_at IS NULL AND confirmed_at IS NULL
             AND unused_since = $4",
        pixel.pixel_id.as_str(),
        ends_at,
        now,
        pixel.unused_since,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() == 1)
}

/// Reverts the claim, because no mail has arrived.
pub async fn update_ending_unnotified(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<()> {
    query!("UPDATE pixels SET ending_told_at = NULL WHERE pixel_id = $1", pixel_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn list_ended(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\" FROM pixels JOIN accounts USING (account_id)
         WHERE confirmed_at IS NULL AND ends_at <= $1
             AND pipeline IS NULL AND plan <> 'unlimited'
         LIMIT $2",
        now,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

/// Locks a pixel that is due for deletion, and returns the time since which it seems unused. Waits
/// for transactions that store a contact for the pixel.
pub async fn lock_ended(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    let unused_since = query_scalar!(
        "SELECT unused_since AS \"unused_since!\" FROM pixels
         WHERE pixel_id = $1 AND confirmed_at IS NULL AND ends_at <= $2
             AND unused_since IS NOT NULL FOR UPDATE",
        pixel_id.as_str(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(unused_since)
}

pub async fn has_contacts(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM contact_counters WHERE pixel_id = $1) AS \"found!\"",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}
