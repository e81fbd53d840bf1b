//! The SQL of pixels, their aliases and the mails about them.

mod aliases;
mod deletion;
mod snippet_mails;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as, query_scalar};

pub use aliases::{find_first_alias, insert_alias, list_aliases};
pub use deletion::{delete_pixel, delete_pixels_made_until, delete_pixels_of};
pub use snippet_mails::{lock_snippet_mails, update_snippet_mailed, update_snippet_mailing};

use super::host::SiteHost;
use super::pipeline::Pipeline;
use super::pixel::{InstallStatus, Pixel};
use crate::accounts::Status;
use crate::error::Result;
use crate::ids::{AccountId, PixelId, PixelRef};

/// Inserts a pixel together with its first alias; `None` when another pixel has the host.
pub async fn insert_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    owner: &AccountId,
    host: &SiteHost,
    alias: &PixelRef,
    now: DateTime<Utc>,
) -> Result<Option<Pixel>> {
    let pixel = query_as!(
        Pixel,
        "INSERT INTO pixels (pixel_id, account_id, domain, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT pixels_domain_key DO NOTHING
         RETURNING pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled",
        pixel_id.as_str(),
        owner.as_str(),
        host.as_str(),
        now,
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(pixel) = pixel else { return Ok(None) };
    query!(
        "INSERT INTO pixel_aliases (alias, pixel_id) VALUES ($1, $2)",
        alias.as_str(),
        pixel_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(Some(pixel))
}

/// The account's own pixel.
pub async fn find_pixel(
    connection: &mut PgConnection,
    owner: &AccountId,
    pixel_id: &PixelId,
) -> Result<Option<Pixel>> {
    let pixel = query_as!(
        Pixel,
        "SELECT pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled
         FROM pixels WHERE account_id = $1 AND pixel_id = $2",
        owner.as_str(),
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}

/// Anybody's pixel: for unlimited callers and the operator only.
pub async fn find_any_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Pixel>> {
    let pixel = query_as!(
        Pixel,
        "SELECT pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled
         FROM pixels WHERE pixel_id = $1",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}

/// A pixel's row, locked until the transaction ends. The caller's right to it must be checked.
pub async fn lock_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<Pixel>> {
    let pixel = query_as!(
        Pixel,
        "SELECT pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled
         FROM pixels WHERE pixel_id = $1 FOR UPDATE",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}

/// Whoever's pixel has the host.
pub async fn find_pixel_by_host(
    connection: &mut PgConnection,
    host: &SiteHost,
) -> Result<Option<Pixel>> {
    let pixel = query_as!(
        Pixel,
        "SELECT pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled
         FROM pixels WHERE domain = $1",
        host.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}

pub async fn list_pixels(connection: &mut PgConnection, owner: &AccountId) -> Result<Vec<Pixel>> {
    let pixels = query_as!(
        Pixel,
        "SELECT pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled
         FROM pixels WHERE account_id = $1 ORDER BY created_at, pixel_id",
        owner.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(pixels)
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

/// Puts a pixel on another host, where it has not been checked.
pub async fn update_domain(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    host: &SiteHost,
) -> Result<Pixel> {
    let pixel = query_as!(
        Pixel,
        "UPDATE pixels
         SET domain = $2, install_status = 'not_checked', checked_at = NULL, check_error = NULL
         WHERE pixel_id = $1
         RETURNING pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled",
        pixel_id.as_str(),
        host.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(pixel)
}

pub async fn update_install(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    status: InstallStatus,
    checked_at: DateTime<Utc>,
    check_error: Option<&str>,
) -> Result<Pixel> {
    let pixel = query_as!(
        Pixel,
        "UPDATE pixels SET install_status = $2, checked_at = $3, check_error = $4
         WHERE pixel_id = $1
         RETURNING pixel_id, account_id, domain, install_status, checked_at, check_error,
             consent_enabled",
        pixel_id.as_str(),
        status.as_str(),
        checked_at,
        check_error,
    )
    .fetch_one(connection)
    .await?;
    Ok(pixel)
}

/// Notes the pipeline of a pixel that has none yet, and gives the one that it has then.
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

pub async fn update_consent_enabled(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    enabled: bool,
) -> Result<()> {
    query!(
        "UPDATE pixels SET consent_enabled = $2 WHERE pixel_id = $1",
        pixel_id.as_str(),
        enabled,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// When a pixel was made.
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

/// A pixel as visitors' pages may know it.
#[derive(Clone, Debug)]
pub struct PublicPixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    pub consent_enabled: bool,
    pub owner_status: Status,
    pub install_status: InstallStatus,
}

/// The pixel of a canonical id or an alias.
pub async fn find_public_pixel(
    connection: &mut PgConnection,
    name: &PixelRef,
) -> Result<Option<PublicPixel>> {
    let pixel = query_as!(
        PublicPixel,
        "SELECT pixel_id, account_id, domain, consent_enabled, status AS owner_status,
             install_status
         FROM pixels JOIN accounts USING (account_id)
         WHERE pixel_id = COALESCE((SELECT pixel_id FROM pixel_aliases WHERE alias = $1), $1)",
        name.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}
