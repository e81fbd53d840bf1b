use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, query, query_as};

use crate::accounts::demo::DEMO_ACCOUNT;
use crate::error::Result;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

#[derive(Clone, Debug, Default)]
pub struct KnownInstall {
    pub looked_at: Option<DateTime<Utc>>,
    pub findings: Value,
    pub installed_since: Option<DateTime<Utc>>,
    /// The time of the next daily check; `None` if none is planned.
    pub next_look_at: Option<DateTime<Utc>>,
    pub missed_days: i32,
    pub missing_since: Option<DateTime<Utc>>,
    pub vanished_at: Option<DateTime<Utc>>,
}

macro_rules! query_known {
    ($pixel_id:expr, $locking:literal) => {
        query_as!(
            KnownInstall,
            "SELECT looked_at, findings, installed_since, next_look_at, missed_days, missing_since,
                 vanished_at
             FROM install_looks JOIN pixels USING (pixel_id)
             WHERE pixel_id = $1 AND host = domain "
                + $locking,
            $pixel_id.as_str(),
        )
    };
}

pub async fn find_install(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<KnownInstall>> {
    Ok(query_known!(pixel_id, "").fetch_optional(connection).await?)
}

/// Like [`find_install`], for several pixels, by pixel id.
pub async fn list_installs(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<HashMap<String, KnownInstall>> {
    let rows = query!(
        "SELECT pixels.pixel_id, looked_at, findings, installed_since, next_look_at, missed_days,
             missing_since, vanished_at
         FROM install_looks JOIN pixels ON pixels.pixel_id = install_looks.pixel_id
         WHERE pixels.pixel_id = ANY($1) AND host = domain",
        pixel_ids,
    )
    .fetch_all(connection)
    .await?;
    let known = rows.into_iter().map(|row| {
        let known = KnownInstall {
            looked_at: row.looked_at,
            findings: row.findings,
            installed_since: row.installed_since,
            next_look_at: row.next_look_at,
            missed_days: row.missed_days,
            missing_since: row.missing_since,
            vanished_at: row.vanished_at,
        };
        (row.pixel_id, known)
    });
    Ok(known.collect())
}

/// Like [`find_install`], with the row locked until the transaction ends. The pixel's row must be locked before.
pub async fn lock_install(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<KnownInstall>> {
    Ok(query_known!(pixel_id, "FOR UPDATE OF install_looks").fetch_optional(connection).await?)
}

pub async fn upsert_install(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    host: &SiteHost,
    known: &KnownInstall,
) -> Result<()> {
    query!(
        "INSERT INTO install_looks (pixel_id, host, looked_at, findings, installed_since,
             next_look_at, missed_days, missing_since, vanished_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (pixel_id) DO UPDATE
         SET host = $2, looked_at = $3, findings = $4, installed_since = $5, next_look_at = $6,
             missed_days = $7, missing_since = $8, vanished_at = $9",
        pixel_id.as_str(),
        host.as_str(),
        known.looked_at,
        known.findings,
        known.installed_since,
        known.next_look_at,
        known.missed_days,
        known.missing_since,
        known.vanished_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Installed pixels without a planned check, as older versions leave them; without demo pixels.
pub async fn list_unplanned(connection: &mut PgConnection, limit: i64) -> Result<Vec<PixelId>> {
    let pixel_ids = sqlx::query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\"
         FROM pixels LEFT JOIN install_looks USING (pixel_id)
         WHERE install_status = 'installed' AND account_id <> $1
             AND (host = domain AND next_look_at IS NOT NULL) IS NOT TRUE
         LIMIT $2",
        DEMO_ACCOUNT,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

pub async fn upsert_plan(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    next_look_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO install_looks AS known (pixel_id, host, next_look_at)
         SELECT pixel_id, domain, $2 FROM pixels WHERE pixel_id = $1 FOR KEY SHARE
         ON CONFLICT (pixel_id) DO UPDATE
         SET host = EXCLUDED.host, next_look_at = $2, missed_days = 0, missing_since = NULL,
             vanished_at = NULL,
             installed_since = CASE WHEN known.host = EXCLUDED.host THEN known.installed_since END",
        pixel_id.as_str(),
        next_look_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct ClaimedCheck {
    pub pixel_id: PixelId,
    pub until: DateTime<Utc>,
}

/// Claims the most overdue planned check of active accounts' pixels, until `until`.
pub async fn claim_check(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Option<ClaimedCheck>> {
    let claimed = query_as!(
        ClaimedCheck,
        "UPDATE install_looks SET next_look_at = $2
         WHERE pixel_id = (
             SELECT pixel_id FROM install_looks JOIN pixels USING (pixel_id)
                 JOIN accounts USING (account_id)
             WHERE next_look_at <= $1 AND host = domain AND status = 'active' AND account_id <> $3
             ORDER BY next_look_at LIMIT 1 FOR UPDATE OF install_looks SKIP LOCKED)
         RETURNING pixel_id, next_look_at AS \"until!\"",
        now,
        until,
        DEMO_ACCOUNT,
    )
    .fetch_optional(connection)
    .await?;
    Ok(claimed)
}
