//! A pixel, and how it comes to be.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::host::SiteHost;
use super::host_claim::{Allowance, claim_host};
use super::{snippet, store};
use crate::accounts::Caller;
use crate::accounts::store::lock_account;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::ids::{AccountId, PixelId};
use crate::platform::Platform;
use crate::text_enum::text_enum;

text_enum! {
    /// What the last look at the site's home page found.
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
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PixelView {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    /// When the install was last checked; null before the first check.
    #[schema(required = true)]
    pub checked_at: Option<Timestamp>,
    /// HTML to paste into the site: the consent tag where consent is on, else the immediate pixel.
    pub snippet: String,
    pub consent_enabled: bool,
    /// What failed, in one short phrase, when the last check could not read the page.
    #[schema(required = true)]
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
            checked_at: pixel.checked_at.map(Timestamp),
            consent_enabled: pixel.consent_enabled,
            check_error: pixel.check_error,
        }
    }
}

/// A pixel in a list.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PixelSummary {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    /// When the install was last checked; null before the first check.
    #[schema(required = true)]
    pub checked_at: Option<Timestamp>,
}

/// The account's pixels, oldest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PixelList {
    pub pixels: Vec<PixelSummary>,
}

impl From<Vec<Pixel>> for PixelList {
    fn from(pixels: Vec<Pixel>) -> Self {
        Self { pixels: pixels.into_iter().map(PixelSummary::from).collect() }
    }
}

impl From<Pixel> for PixelSummary {
    fn from(pixel: Pixel) -> Self {
        Self {
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(Timestamp),
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
    let pixel = claim_host(&mut transaction, &owner, host, Allowance::Enforced, now).await?;
    platform.changes.commit(transaction).await?;
    Ok(pixel)
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

/// How far an account has come with its setup.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Setup {
    /// Always true: without it the route refuses.
    pub good_standing: bool,
    pub pixel_count: i64,
    /// Pixels whose last check found them on their site.
    pub installed_count: i64,
    /// True when at least one pixel is installed.
    pub setup_complete: bool,
}

/// Counts an account's pixels, and those that are installed.
pub async fn setup(platform: &Platform, owner: &AccountId) -> Result<Setup> {
    let mut connection = platform.pool.acquire().await?;
    let pixel_count = store::count_pixels(&mut connection, owner).await?;
    let installed_count = store::count_installed_pixels(&mut connection, owner).await?;
    Ok(Setup {
        good_standing: true,
        pixel_count,
        installed_count,
        setup_complete: installed_count > 0,
    })
}
