//! Renaming and deleting pixels.

use super::host::SiteHost;
use super::host_claim::find_holder;
use super::pixel::{InstallStatus, Pixel, find_for};
use super::store;
use crate::accounts::Caller;
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::platform::Platform;

/// Moves a pixel to another host, where its install has not been checked yet.
///
/// To its present host nothing changes. An installed pixel stays where it is.
pub async fn rename_pixel(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    host: &SiteHost,
) -> Result<Pixel> {
    let found = find_for(platform, caller, pixel_id).await?;
    let mut transaction = platform.pool.begin().await?;
    let pixel =
        store::lock_pixel(&mut transaction, &found.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    if pixel.install_status == InstallStatus::Installed {
        return Err(Error::InstalledPixelRename);
    }
    if pixel.domain == *host {
        return Ok(pixel);
    }
    if find_holder(&mut transaction, host, &pixel.account_id).await?.is_some() {
        return Err(Error::DomainRegistered);
    }
    let renamed = store::update_domain(&mut transaction, &pixel.pixel_id, host).await?;
    platform.changes.commit(transaction).await?;
    tracing::info!(pixel_id = %renamed.pixel_id, "pixel renamed");
    Ok(renamed)
}

/// Deletes a pixel that is not installed, so that its host is free again.
///
/// Its receipts and policies stay: they prove that choices were made.
pub async fn delete_pixel(platform: &Platform, caller: &Caller, pixel_id: &str) -> Result<PixelId> {
    let found = find_for(platform, caller, pixel_id).await?;
    let mut transaction = platform.pool.begin().await?;
    let pixel =
        store::lock_pixel(&mut transaction, &found.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    if pixel.install_status == InstallStatus::Installed {
        return Err(Error::InstalledPixelDelete);
    }
    store::delete_pixel(&mut transaction, &pixel.pixel_id).await?;
    platform.changes.commit(transaction).await?;
    tracing::info!(pixel_id = %pixel.pixel_id, "pixel deleted");
    Ok(pixel.pixel_id)
}
