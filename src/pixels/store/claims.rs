use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

use crate::error::Result;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};

#[derive(Clone, Debug)]
pub struct Claim {
    pub domain: SiteHost,
    pub pixel_id: PixelId,
    pub expires_at: DateTime<Utc>,
    pub taken_at: Option<DateTime<Utc>>,
}

/// The number of hosts, except one, that the account claims at present.
pub async fn count_open_claims(
    connection: &mut PgConnection,
    owner: &AccountId,
    besides: &SiteHost,
    now: DateTime<Utc>,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM pixel_claims
         WHERE account_id = $1 AND domain <> $2 AND expires_at > $3 AND taken_at IS NULL",
        owner.as_str(),
        besides.as_str(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// Opens the account's claim of a host, or gives an open one a new token. The pixel id stays, so
/// that a snippet on the site remains valid as proof.
pub async fn upsert_claim(
    connection: &mut PgConnection,
    owner: &AccountId,
    host: &SiteHost,
    token_hash: &[u8],
    new_pixel_id: &PixelId,
    expires_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<PixelId> {
    let pixel_id = query_scalar!(
        "INSERT INTO pixel_claims AS claim (token_hash, account_id, domain, pixel_id, expires_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT ON CONSTRAINT pixel_claims_host DO UPDATE
         SET token_hash = $1, expires_at = $5, taken_at = NULL,
             pixel_id = CASE WHEN claim.taken_at IS NULL AND claim.expires_at > $6
                 THEN claim.pixel_id ELSE $4 END
         RETURNING pixel_id AS \"pixel_id: PixelId\"",
        token_hash,
        owner.as_str(),
        host.as_str(),
        new_pixel_id.as_str(),
        expires_at,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(pixel_id)
}

pub async fn find_claim(
    connection: &mut PgConnection,
    owner: &AccountId,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<Claim>> {
    let claim = query_as!(
        Claim,
        "SELECT domain, pixel_id, expires_at, taken_at FROM pixel_claims
         WHERE token_hash = $1 AND account_id = $2 AND expires_at > $3",
        token_hash,
        owner.as_str(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(claim)
}

pub async fn update_claim_taken(
    connection: &mut PgConnection,
    token_hash: &[u8],
    now: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE pixel_claims SET taken_at = $2 WHERE token_hash = $1", token_hash, now)
        .execute(connection)
        .await?;
    Ok(())
}
