mod aliases;
pub mod claims;
mod deletion;
pub mod install_checks;
pub mod moves;
mod other_sites;
mod public;
mod settings;
mod snippet_mails;
pub mod test_hosts;
pub mod usage;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

pub use aliases::{find_first_alias, insert_alias, list_aliases};
pub use deletion::{delete_pixel, delete_pixels_made_until, delete_pixels_of};
pub use other_sites::{OtherSite, list_other_sites};
pub use public::{PublicPixel, find_public_pixel};
pub use settings::{
    delete_local_counts, is_zone_known, update_contacts_need_act, update_contacts_need_consent,
    update_share_subdomains, update_time_zone,
};
pub use snippet_mails::{lock_snippet_mailed_at, update_snippet_mailed};

use crate::error::Result;
use crate::pixels::pixel::{InstallStatus, Pipeline, Pixel};
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId, PixelRef};

macro_rules! query_pixel {
    (returning $statement:literal, $($argument:expr),+ $(,)?) => {
        query_pixel!(@($statement + " RETURNING ") (+ ""), $($argument),+)
    };
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_pixel!(@("SELECT ") (+ " FROM pixels " + $rest), $($argument),+)
    };
    (@($($before:tt)+) ($($after:tt)+), $($argument:expr),+) => {
        query_as!(
            Pixel,
            $($before)+
                + "pixel_id, account_id, domain, install_status, checked_at, check_error,
                   consent_enabled, contacts_need_consent, contacts_need_act,
                   share_subdomains, time_zone, time_zone_from"
                $($after)+,
            $($argument),+
        )
    };
}

/// Inserts a pixel with its first alias; `None` when another pixel has the host.
pub async fn insert_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    owner: &AccountId,
    host: &SiteHost,
    alias: &PixelRef,
    contacts_need_consent: bool,
    now: DateTime<Utc>,
) -> Result<Option<Pixel>> {
    let pixel = query_pixel!(
        returning "INSERT INTO pixels (pixel_id, account_id, domain, created_at, unused_since,
             contacts_need_consent)
         VALUES ($1, $2, $3, $4, $4, $5)
         ON CONFLICT ON CONSTRAINT pixels_domain_key DO NOTHING",
        pixel_id.as_str(),
        owner.as_str(),
        host.as_str(),
        now,
        contacts_need_consent,
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(pixel) = pixel else { return Ok(None) };
    moves::refuse_former_host(&mut *connection, host, now).await?;
    query!(
        "INSERT INTO pixel_aliases (alias, pixel_id) VALUES ($1, $2)",
        alias.as_str(),
        pixel_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(Some(pixel))
}

pub async fn find_pixel(
    connection: &mut PgConnection,
    owner: &AccountId,
    pixel_id: &PixelId,
) -> Result<Option<Pixel>> {
    let pixel =
        query_pixel!("WHERE account_id = $1 AND pixel_id = $2", owner.as_str(), pixel_id.as_str())
            .fetch_optional(connection)
            .await?;
    Ok(pixel)
}

/// A pixel of any account: for unlimited callers and the operator only.
pub async fn find_any_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Pixel>> {
    let pixel =
        query_pixel!("WHERE pixel_id = $1", pixel_id.as_str()).fetch_optional(connection).await?;
    Ok(pixel)
}

/// Locks a pixel's row until the transaction ends. The caller's access must be checked.
pub async fn lock_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Pixel>> {
    let pixel = query_pixel!("WHERE pixel_id = $1 FOR UPDATE", pixel_id.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(pixel)
}

/// Locks a pixel's row against deletion until the transaction ends, before any other lock; `false` if it is gone.
pub async fn share_pixel(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let found = query_scalar!(
        "SELECT pixel_id FROM pixels WHERE pixel_id = $1 FOR KEY SHARE",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

pub async fn find_pixel_by_host(
    connection: &mut PgConnection,
    host: &SiteHost,
) -> Result<Option<Pixel>> {
    let pixel = query_pixel!("WHERE domain = $1", host.as_str()).fetch_optional(connection).await?;
    Ok(pixel)
}

pub async fn lock_pixel_by_host(
    connection: &mut PgConnection,
    host: &SiteHost,
) -> Result<Option<Pixel>> {
    let pixel = query_pixel!("WHERE domain = $1 FOR UPDATE", host.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(pixel)
}

pub async fn list_pixels(connection: &mut PgConnection, owner: &AccountId) -> Result<Vec<Pixel>> {
    let pixels =
        query_pixel!("WHERE account_id = $1 ORDER BY created_at, pixel_id", owner.as_str())
            .fetch_all(connection)
            .await?;
    Ok(pixels)
}

pub async fn list_pixels_of_accounts(
    connection: &mut PgConnection,
    owners: &[String],
) -> Result<Vec<Pixel>> {
    Ok(query_pixel!("WHERE account_id = ANY($1)", owners).fetch_all(connection).await?)
}

pub async fn list_pixel_ids(
    connection: &mut PgConnection,
    owner: &AccountId,
) -> Result<Vec<String>> {
    let pixel_ids = query_scalar!(
        "SELECT pixel_id FROM pixels WHERE account_id = $1 ORDER BY pixel_id",
        owner.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(pixel_ids)
}

pub async fn count_pixels(connection: &mut PgConnection, owner: &AccountId) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM pixels WHERE account_id = $1",
        owner.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn count_installed_pixels(
    connection: &mut PgConnection,
    owner: &AccountId,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM pixels
         WHERE account_id = $1 AND install_status = 'installed'",
        owner.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn update_domain(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    host: &SiteHost,
    now: DateTime<Utc>,
) -> Result<Pixel> {
    let pixel = query_pixel!(
        returning "UPDATE pixels
         SET domain = $2, install_status = 'not_checked', checked_at = NULL, check_error = NULL,
             confirmed_at = NULL, claim_token_hash = NULL, proven_at = NULL,
             in_use_since = NULL, renamed_at = $3, unused_since = $3,
             ending_told_at = NULL, ends_at = NULL
         WHERE pixel_id = $1",
        pixel_id.as_str(),
        host.as_str(),
        now,
    )
    .fetch_one(&mut *connection)
    .await?;
    moves::refuse_former_host(connection, host, now).await?;
    Ok(pixel)
}

pub async fn update_install(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    status: InstallStatus,
    checked_at: DateTime<Utc>,
    check_error: Option<&str>,
) -> Result<Pixel> {
    let pixel = query_pixel!(
        returning "UPDATE pixels SET install_status = $2, checked_at = $3, check_error = $4
         WHERE pixel_id = $1",
        pixel_id.as_str(),
        status.as_str(),
        checked_at,
        check_error,
    )
    .fetch_one(connection)
    .await?;
    Ok(pixel)
}

pub async fn update_pipeline(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    pipeline: Pipeline,
) -> Result<Pipeline> {
    let pipeline = query_scalar!(
        "UPDATE pixels SET pipeline = COALESCE(pipeline, $2) WHERE pixel_id = $1
         RETURNING pipeline AS \"pipeline!\"",
        pixel_id.as_str(),
        pipeline.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(Pipeline::from(pipeline))
}

/// Returns `false` if nothing changed.
pub async fn update_consent_enabled(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    enabled: bool,
) -> Result<bool> {
    let changed = query!(
        "UPDATE pixels SET consent_enabled = $2 WHERE pixel_id = $1 AND consent_enabled <> $2",
        pixel_id.as_str(),
        enabled,
    )
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() == 1)
}

pub async fn find_created_at(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<DateTime<Utc>>> {
    let created_at =
        query_scalar!("SELECT created_at FROM pixels WHERE pixel_id = $1", pixel_id.as_str())
            .fetch_optional(connection)
            .await?;
    Ok(created_at)
}
