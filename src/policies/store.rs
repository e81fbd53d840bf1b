use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::policy::Policy;
use crate::error::{Error, Result};
use crate::pixels::{PublicPixel, find_any_pixel, find_public_pixel};
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId, PixelRef};

/// A stored version; the text is as it was hashed.
pub struct PolicyVersion {
    pub version: i32,
    pub policy_hash: String,
    pub document: String,
    pub domain: SiteHost,
    pub published_at: DateTime<Utc>,
}

impl TryFrom<PolicyVersion> for Policy {
    type Error = Error;

    fn try_from(row: PolicyVersion) -> Result<Self> {
        Ok(Self {
            version: row.version,
            hash: row.policy_hash,
            text: serde_json::from_str(&row.document).map_err(Error::internal)?,
            domain: row.domain,
            published_at: row.published_at,
            shares_subdomains: false,
        })
    }
}

macro_rules! select_policy_version {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        select_policy_version!([query_as, PolicyVersion], "", $rest, $($argument),+)
    };
    ([$query:ident $(, $row:ident)?], $more:literal, $rest:literal, $($argument:expr),+ $(,)?) => {
        $query!(
            $($row,)?
            "SELECT version, policy_hash, document, domain, published_at" + $more + "
             FROM consent_policies " + $rest,
            $($argument),+
        )
    };
}

pub async fn insert_policy(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    policy: &Policy,
    document: &str,
) -> Result<()> {
    let pixel = find_any_pixel(&mut *connection, pixel_id).await?;
    let owner = pixel.as_ref().map(|pixel| pixel.account_id.as_str());
    query!(
        "INSERT INTO consent_policies (pixel_id, version, policy_hash, document, domain,
             published_at, account_id, consent_days)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        pixel_id.as_str(),
        policy.version,
        policy.hash,
        document,
        policy.domain.as_str(),
        policy.published_at,
        owner,
        policy.text.consent_days,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn sum_policy_bytes(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<i64> {
    let bytes = query_scalar!(
        "SELECT COALESCE(sum(octet_length(document)), 0)::bigint AS \"bytes!\"
         FROM consent_policies WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(bytes)
}

pub struct PublishedAt {
    pub policy_hash: String,
    pub pixel_id: PixelId,
    pub version: i32,
    pub domain: SiteHost,
    pub published_at: DateTime<Utc>,
}

/// Newest first.
pub async fn list_published(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hashes: &[String],
) -> Result<Vec<PublishedAt>> {
    let rows = query_as!(
        PublishedAt,
        "SELECT policy_hash, pixel_id, version, domain, published_at FROM consent_policies
         WHERE account_id = $1 AND policy_hash = ANY($2) ORDER BY published_at DESC",
        account_id.as_str(),
        hashes,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn list_hashes_of_pixels(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<Vec<String>> {
    let hashes = query_scalar!(
        "SELECT DISTINCT policy_hash FROM consent_policies WHERE pixel_id = ANY($1)",
        pixel_ids,
    )
    .fetch_all(connection)
    .await?;
    Ok(hashes)
}

pub async fn find_current_policy(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Policy>> {
    let row = select_policy_version!(
        "WHERE pixel_id = $1 ORDER BY version DESC LIMIT 1",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(Policy::try_from).transpose()
}

/// The version with the hash; of several, the newest that was published by `at`, or the newest of all
/// without `at`. Clocks of nodes differ, so a time before all versions selects the first.
pub async fn find_policy_by_hash(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hash: &str,
    at: Option<DateTime<Utc>>,
) -> Result<Option<Policy>> {
    let row = select_policy_version!(
        "WHERE pixel_id = $1 AND policy_hash = $2
         ORDER BY CASE WHEN published_at <= COALESCE($3, 'infinity'::timestamptz)
             THEN version ELSE -version END DESC
         LIMIT 1",
        pixel_id.as_str(),
        hash,
        at,
    )
    .fetch_optional(connection)
    .await?;
    row.map(Policy::try_from).transpose()
}

/// The versions after one, oldest first, limited by their total size, but at least one.
pub async fn list_policies(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i32,
    limit: i64,
    most_bytes: i64,
) -> Result<Vec<PolicyVersion>> {
    let versions = query_as!(
        PolicyVersion,
        "SELECT version, policy_hash, document, domain, published_at
         FROM (SELECT version, policy_hash, document, domain, published_at,
                   sum(octet_length(document)) OVER (ORDER BY version) - octet_length(document)
                       AS bytes_before
               FROM consent_policies WHERE pixel_id = $1 AND version > $2
               ORDER BY version LIMIT $3) AS page
         WHERE bytes_before < $4 ORDER BY version",
        pixel_id.as_str(),
        after,
        limit,
        most_bytes,
    )
    .fetch_all(connection)
    .await?;
    Ok(versions)
}

pub async fn list_newest_policies(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    limit: i64,
    most_bytes: i64,
) -> Result<Vec<PolicyVersion>> {
    let versions = query_as!(
        PolicyVersion,
        "SELECT version, policy_hash, document, domain, published_at
         FROM (SELECT version, policy_hash, document, domain, published_at,
                   sum(octet_length(document)) OVER (ORDER BY version DESC) - octet_length(document)
                       AS bytes_before
               FROM consent_policies WHERE pixel_id = $1
               ORDER BY version DESC LIMIT $2) AS page
         WHERE bytes_before < $3 ORDER BY version DESC",
        pixel_id.as_str(),
        limit,
        most_bytes,
    )
    .fetch_all(connection)
    .await?;
    Ok(versions)
}

pub struct AnyVersion {
    pub pixel_id: String,
    pub version: i32,
    pub policy_hash: String,
}

pub async fn list_any_versions(
    connection: &mut PgConnection,
    (pixel_id, version): (&str, i32),
    limit: i64,
) -> Result<Vec<AnyVersion>> {
    let versions = query_as!(
        AnyVersion,
        "SELECT pixel_id, version, policy_hash FROM consent_policies
         WHERE (pixel_id, version) > ($1, $2) ORDER BY pixel_id, version LIMIT $3",
        pixel_id,
        version,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(versions)
}

/// Returns `false` when the pixel has this appearance already.
pub async fn upsert_appearance(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    appearance: &Value,
) -> Result<bool> {
    let changed = query!(
        "INSERT INTO consent_appearances AS present (pixel_id, appearance) VALUES ($1, $2)
         ON CONFLICT (pixel_id) DO UPDATE SET appearance = $2 WHERE present.appearance <> $2",
        pixel_id.as_str(),
        appearance,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

pub struct StoredSite {
    pub pixel: PublicPixel,
    pub policy: Option<Policy>,
    pub appearance: Option<Value>,
}

pub async fn find_site(
    connection: &mut PgConnection,
    name: &PixelRef,
) -> Result<Option<StoredSite>> {
    let Some(pixel) = find_public_pixel(connection, name).await? else { return Ok(None) };
    let pixel_id = pixel.pixel_id.as_str();
    // One statement: on a cluster each is a round trip, and a busy node reads thousands every few seconds.
    let row = select_policy_version!(
        [query],
        ", (SELECT appearance FROM consent_appearances WHERE consent_appearances.pixel_id = $1)
             AS appearance",
        "WHERE pixel_id = $1 ORDER BY version DESC LIMIT 1",
        pixel_id,
    )
    .fetch_optional(&mut *connection)
    .await?;
    let (policy, appearance) = match row {
        Some(row) => {
            let version = PolicyVersion {
                version: row.version,
                policy_hash: row.policy_hash,
                document: row.document,
                domain: row.domain.into(),
                published_at: row.published_at,
            };
            (Some(Policy::try_from(version)?), row.appearance)
        }
        None => (None, find_appearance(connection, pixel_id).await?),
    };
    Ok(Some(StoredSite { pixel, policy, appearance }))
}

pub async fn find_appearance(
    connection: &mut PgConnection,
    pixel_id: &str,
) -> Result<Option<Value>> {
    let appearance =
        query_scalar!("SELECT appearance FROM consent_appearances WHERE pixel_id = $1", pixel_id);
    Ok(appearance.fetch_optional(connection).await?)
}
