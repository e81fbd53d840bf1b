use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::{Error, Result};
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};

/// A move of a pixel's site away from a host.
#[derive(Clone, Debug)]
pub struct SiteMove {
    pub former_host: SiteHost,
    pub moved_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
}

/// The move of a pixel that has not ended.
pub async fn find_move(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<Option<SiteMove>> {
    let found = query_as!(
        SiteMove,
        "SELECT former_host, moved_at, ends_at FROM site_moves
         WHERE pixel_id = $1 AND ends_at > $2",
        pixel_id.as_str(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}

/// Returns `false` when another move of the pixel has not ended.
pub async fn insert_move(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    new: &SiteMove,
) -> Result<bool> {
    let inserted = query!(
        "INSERT INTO site_moves AS earlier (pixel_id, former_host, moved_at, ends_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (pixel_id) DO UPDATE SET former_host = $2, moved_at = $3, ends_at = $4
         WHERE earlier.ends_at <= $3",
        pixel_id.as_str(),
        new.former_host.as_str(),
        new.moved_at,
        new.ends_at,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

/// Starts the unused period of a pixel at a time, which may be later than now.
pub async fn update_unused_since(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    since: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE pixels SET unused_since = $2 WHERE pixel_id = $1", pixel_id.as_str(), since)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_move(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<()> {
    query!("DELETE FROM site_moves WHERE pixel_id = $1", pixel_id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes the pixel's move if its time is over; `false` otherwise.
pub async fn delete_ended_move(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM site_moves WHERE pixel_id = $1 AND ends_at <= $2",
        pixel_id.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}

/// Pixels whose moves have ended, the earliest end first.
pub async fn list_ended_moves(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\" FROM site_moves
         WHERE ends_at <= $1 ORDER BY ends_at LIMIT $2",
        now,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

/// The account of the pixel that has moved away from a host and keeps it until its move ends.
pub async fn find_owner_of_former_host(
    connection: &mut PgConnection,
    host: &SiteHost,
    now: DateTime<Utc>,
) -> Result<Option<AccountId>> {
    let owner = query_scalar!(
        "SELECT account_id FROM site_moves JOIN pixels USING (pixel_id)
         WHERE former_host = $1 AND site_moves.ends_at > $2",
        host.as_str(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(owner.map(AccountId::from))
}

/// Refuses a host that another pixel keeps until its move ends. Call it after the host was taken: since the host
/// was found free, another pixel may have got it and moved away from it.
pub async fn refuse_former_host(
    connection: &mut PgConnection,
    host: &SiteHost,
    now: DateTime<Utc>,
) -> Result<()> {
    match find_owner_of_former_host(connection, host, now).await? {
        Some(_) => Err(Error::DomainRegistered),
        None => Ok(()),
    }
}

/// A pixel that has moved away from a host, and its owner.
pub struct MovedPixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
}

/// Like [`find_owner_of_former_host`], with the pixel's row and the move locked until the transaction ends.
pub async fn lock_pixel_of_former_host(
    connection: &mut PgConnection,
    host: &SiteHost,
    now: DateTime<Utc>,
) -> Result<Option<MovedPixel>> {
    let found = query_as!(
        MovedPixel,
        "SELECT pixels.pixel_id, account_id
         FROM pixels JOIN site_moves ON site_moves.pixel_id = pixels.pixel_id
         WHERE former_host = $1 AND site_moves.ends_at > $2 FOR UPDATE",
        host.as_str(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}
