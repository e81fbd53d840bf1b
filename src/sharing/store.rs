use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::view::SharedLinkView;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

pub struct NewLink<'a> {
    pub token_hash: &'a [u8],
    pub pixel_id: &'a PixelId,
    pub prefix: &'a str,
    pub made_by: &'a str,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

pub async fn insert_link(connection: &mut PgConnection, new: &NewLink<'_>) -> Result<()> {
    query!(
        "INSERT INTO shared_links (token_hash, pixel_id, prefix, made_by, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        new.token_hash,
        new.pixel_id.as_str(),
        new.prefix,
        new.made_by,
        new.created_at,
        new.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists the links of a pixel, including expired ones that are not deleted yet.
pub async fn list_links(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Vec<SharedLinkView>> {
    let rows = query!(
        "SELECT prefix, made_by, created_at, expires_at FROM shared_links
         WHERE pixel_id = $1 ORDER BY created_at, prefix",
        pixel_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    let links = rows.into_iter().map(|row| SharedLinkView {
        prefix: row.prefix,
        made_by: row.made_by,
        created_at: Timestamp(row.created_at),
        expires_at: Timestamp(row.expires_at),
    });
    Ok(links.collect())
}

/// Counts the valid links. The caller must lock the pixel's row, so that the number stays correct.
pub async fn count_links(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM shared_links WHERE pixel_id = $1 AND expires_at > $2",
        pixel_id.as_str(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// Returns `false` if the pixel has no such valid link.
pub async fn delete_link(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM shared_links WHERE pixel_id = $1 AND prefix = $2 AND expires_at > $3",
        pixel_id.as_str(),
        prefix,
        now,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}

/// The site that a link shows.
pub struct SharedSite {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub expires_at: DateTime<Utc>,
    time_zone: Option<String>,
    time_zone_from: Option<NaiveDate>,
}

impl SharedSite {
    pub fn day_zone(&self) -> DayZone {
        DayZone::of_stored(self.time_zone.as_deref(), self.time_zone_from)
    }
}

/// The site of a valid link, if its account is active.
pub async fn find_site(
    connection: &mut PgConnection,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<SharedSite>> {
    let site = query_as!(
        SharedSite,
        "SELECT pixel_id, domain, link.expires_at, time_zone, time_zone_from
         FROM shared_links AS link
         JOIN pixels USING (pixel_id) JOIN accounts USING (account_id)
         WHERE link.token_hash = $1 AND link.expires_at > $2 AND accounts.status = 'active'",
        token_hash,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(site)
}

/// Deletes at most `limit` links that have expired.
pub async fn delete_expired(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM shared_links WHERE token_hash IN (
             SELECT token_hash FROM shared_links WHERE expires_at <= $1 LIMIT $2)",
        now,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
