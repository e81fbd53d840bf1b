use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};
use uuid::Uuid;

use crate::accounts::demo::DEMO_ACCOUNT;
use crate::error::Result;
use crate::silence::state::KnownSilence;
use crate::silence::view::SiteVerdict;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// The settings and the state of a pixel's site.
#[derive(Clone, Debug, Default)]
pub struct WatchedSite {
    pub known: KnownSilence,
    pub next_watch_at: Option<DateTime<Utc>>,
    pub allowed: Vec<String>,
    pub is_public: bool,
}

struct Row {
    is_of_host: bool,
    next_watch_at: Option<DateTime<Utc>>,
    verdict: Option<String>,
    reported_at: Option<DateTime<Utc>>,
    report_id: Option<Uuid>,
    broken_since: Option<DateTime<Utc>>,
    own_verdict: Option<String>,
    own_at: Option<DateTime<Utc>>,
    allowed: Vec<String>,
    is_public: bool,
}

impl From<Row> for WatchedSite {
    fn from(row: Row) -> Self {
        let settings = Self { allowed: row.allowed, is_public: row.is_public, ..Self::default() };
        if !row.is_of_host {
            return settings;
        }
        let known = KnownSilence {
            verdict: row.verdict.map(SiteVerdict::from),
            reported_at: row.reported_at,
            report_id: row.report_id,
            broken_since: row.broken_since,
            own_verdict: row.own_verdict.map(SiteVerdict::from),
            own_at: row.own_at,
        };
        Self { known, next_watch_at: row.next_watch_at, ..settings }
    }
}

/// Returns the default settings for a pixel without a row.
pub async fn find_site(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<WatchedSite> {
    let row = query_as!(
        Row,
        "SELECT host = domain AS \"is_of_host!\", next_watch_at, verdict, reported_at, report_id,
             broken_since, own_verdict, own_at, allowed, is_public
         FROM watch_sites JOIN pixels USING (pixel_id) WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(WatchedSite::from).unwrap_or_default())
}

/// Those of the pixels whose sites load or store something without consent.
pub async fn list_broken(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<Vec<PixelId>> {
    let broken = query_scalar!(
        "SELECT pixels.pixel_id AS \"pixel_id: PixelId\"
         FROM watch_sites JOIN pixels ON pixels.pixel_id = watch_sites.pixel_id
         WHERE pixels.pixel_id = ANY($1) AND host = domain AND broken_since IS NOT NULL",
        pixel_ids,
    )
    .fetch_all(connection)
    .await?;
    Ok(broken)
}

/// Stores the state of a pixel's site. The pixel's row must be locked.
pub async fn upsert_known(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    host: &SiteHost,
    known: &KnownSilence,
) -> Result<()> {
    query!(
        "INSERT INTO watch_sites AS site (pixel_id, host, verdict, reported_at, report_id, broken_since,
             own_verdict, own_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (pixel_id) DO UPDATE
         SET host = $2, verdict = $3, reported_at = $4, report_id = $5, broken_since = $6,
             own_verdict = $7, own_at = $8,
             next_watch_at = CASE WHEN site.host = $2 THEN site.next_watch_at END",
        pixel_id.as_str(),
        host.as_str(),
        known.verdict.map(SiteVerdict::as_str),
        known.reported_at,
        known.report_id,
        known.broken_since,
        known.own_verdict.map(SiteVerdict::as_str),
        known.own_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the settings of a pixel's site. The pixel's row must be locked.
pub async fn upsert_settings(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    allowed: &[String],
    is_public: bool,
) -> Result<()> {
    query!(
        "INSERT INTO watch_sites (pixel_id, host, allowed, is_public)
         SELECT pixel_id, domain, $2, $3 FROM pixels WHERE pixel_id = $1
         ON CONFLICT (pixel_id) DO UPDATE SET allowed = $2, is_public = $3",
        pixel_id.as_str(),
        allowed,
        is_public,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Installed pixels without a planned watch, except demo pixels.
pub async fn list_unplanned(connection: &mut PgConnection, limit: i64) -> Result<Vec<PixelId>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id AS \"pixel_id: PixelId\"
         FROM pixels LEFT JOIN watch_sites USING (pixel_id)
         WHERE install_status = 'installed' AND account_id <> $1
             AND (host = domain AND next_watch_at IS NOT NULL) IS NOT TRUE
         LIMIT $2",
        DEMO_ACCOUNT,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

/// Plans the next watch, and removes the state if it belongs to another host.
pub async fn upsert_plan(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    next_watch_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO watch_sites AS site (pixel_id, host, next_watch_at)
         SELECT pixel_id, domain, $2 FROM pixels WHERE pixel_id = $1 FOR KEY SHARE
         ON CONFLICT (pixel_id) DO UPDATE
         SET host = EXCLUDED.host, next_watch_at = $2,
             verdict = CASE WHEN site.host = EXCLUDED.host THEN site.verdict END,
             reported_at = CASE WHEN site.host = EXCLUDED.host THEN site.reported_at END,
             report_id = CASE WHEN site.host = EXCLUDED.host THEN site.report_id END,
             broken_since = CASE WHEN site.host = EXCLUDED.host THEN site.broken_since END,
             own_verdict = CASE WHEN site.host = EXCLUDED.host THEN site.own_verdict END,
             own_at = CASE WHEN site.host = EXCLUDED.host THEN site.own_at END,
             failures = 0",
        pixel_id.as_str(),
        next_watch_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A site that is due.
pub struct DueSite {
    pub pixel_id: PixelId,
    /// Runs that have failed since the last report of the service.
    pub failures: i32,
}

/// Locks the most overdue site of active accounts' installed pixels.
pub async fn lock_due(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Option<DueSite>> {
    let due = query_as!(
        DueSite,
        "SELECT pixel_id AS \"pixel_id: PixelId\", failures
         FROM watch_sites JOIN pixels USING (pixel_id) JOIN accounts USING (account_id)
         WHERE next_watch_at <= $1 AND host = domain AND status = 'active'
             AND install_status = 'installed' AND account_id <> $2
         ORDER BY next_watch_at LIMIT 1 FOR UPDATE OF watch_sites SKIP LOCKED",
        now,
        DEMO_ACCOUNT,
    )
    .fetch_optional(connection)
    .await?;
    Ok(due)
}

/// Plans the next watch of a site that was due.
pub async fn update_plan(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    next_watch_at: DateTime<Utc>,
    failures: i32,
) -> Result<()> {
    query!(
        "UPDATE watch_sites SET next_watch_at = $2, failures = $3 WHERE pixel_id = $1",
        pixel_id.as_str(),
        next_watch_at,
        failures,
    )
    .execute(connection)
    .await?;
    Ok(())
}
