//! A pixel, and how it comes to be.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use super::host::SiteHost;
use super::{snippet, store};
use crate::accounts::store::lock_account;
use crate::accounts::{Account, Caller, Plan};
use crate::clock::rfc3339;
use crate::error::{Error, Result};
use crate::ids::{AccountId, PixelId, PixelRef};
use crate::platform::Platform;
use crate::text_enum::text_enum;

/// Pixels that the plans `free` and `paid` include.
pub const PIXELS_INCLUDED: i64 = 3;

text_enum! {
    pub enum InstallStatus {
        NotChecked = "not_checked",
        Installed = "installed",
        NotInstalled = "not_installed",
        Unreachable = "unreachable",
    }
}

/// A row of `pixels`.
#[derive(Clone, Debug)]
pub struct Pixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    pub checked_at: Option<DateTime<Utc>>,
    pub check_error: Option<String>,
    pub consent_enabled: bool,
}

/// A pixel as its owner sees it.
#[derive(Debug, Serialize)]
pub struct PixelView {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    pub checked_at: Option<String>,
    pub snippet: String,
    pub consent_enabled: bool,
    pub check_error: Option<String>,
}

impl PixelView {
    /// With the snippet to paste: the consent tag where consent is on, else the immediate one.
    pub fn of(pixel: Pixel, base_url: &str) -> Self {
        Self {
            snippet: snippet::current(&pixel, base_url),
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(rfc3339),
            consent_enabled: pixel.consent_enabled,
            check_error: pixel.check_error,
        }
    }
}

/// A pixel in a list.
#[derive(Debug, Serialize)]
pub struct PixelSummary {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    pub checked_at: Option<String>,
}

impl From<Pixel> for PixelSummary {
    fn from(pixel: Pixel) -> Self {
        Self {
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(rfc3339),
        }
    }
}

/// Creates the account's pixel for a host, or gives the one it has.
pub async fn create_pixel(
    platform: &Platform,
    owner: &AccountId,
    host: &SiteHost,
) -> Result<Pixel> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let owner = lock_account(&mut transaction, owner).await?.ok_or(Error::NotInGoodStanding)?;
    if let Some(pixel) = store::find_pixel_by_host(&mut transaction, host).await? {
        return match pixel.account_id == owner.account_id {
            true => Ok(pixel),
            false => Err(Error::DomainRegistered),
        };
    }
    check_allowance(&mut transaction, &owner).await?;
    let pixel = insert(&mut transaction, &owner.account_id, host, now).await?;
    transaction.commit().await?;
    tracing::info!(pixel_id = %pixel.pixel_id, "pixel created");
    Ok(pixel)
}

async fn check_allowance(connection: &mut PgConnection, owner: &Account) -> Result<()> {
    if owner.plan == Plan::Unlimited {
        return Ok(());
    }
    let remaining = PIXELS_INCLUDED - store::count_pixels(connection, &owner.account_id).await?;
    if remaining <= 0 {
        return Err(Error::PixelAllowanceReached { remaining: 0 });
    }
    Ok(())
}

/// A failure other than a conflict is `pixel could not be created`: the caller may try again.
async fn insert(
    connection: &mut PgConnection,
    owner: &AccountId,
    host: &SiteHost,
    now: DateTime<Utc>,
) -> Result<Pixel> {
    let alias = PixelRef::random_alias();
    let inserted =
        store::insert_pixel(connection, &PixelId::random(), owner, host, &alias, now).await;
    inserted.map_err(|error| match error {
        Error::Internal(cause) => {
            tracing::error!(cause, "pixel could not be created");
            Error::PixelNotCreated
        }
        other => other,
    })
}

/// The caller's own pixel; an unlimited caller's is any. Another account's is not found.
pub async fn find_for(platform: &Platform, caller: &Caller, pixel_id: &str) -> Result<Pixel> {
    let pixel_id = PixelId::parse(pixel_id).ok_or(Error::PixelNotFound)?;
    let mut connection = platform.pool.acquire().await?;
    let pixel = match caller.is_unlimited() {
        true => store::find_any_pixel(&mut connection, &pixel_id).await?,
        false => store::find_pixel(&mut connection, caller.account_id(), &pixel_id).await?,
    };
    pixel.ok_or(Error::PixelNotFound)
}

/// All pixels of an account, oldest first.
pub async fn list(platform: &Platform, owner: &AccountId) -> Result<Vec<Pixel>> {
    let mut connection = platform.pool.acquire().await?;
    store::list_pixels(&mut connection, owner).await
}
