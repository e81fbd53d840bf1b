use super::claims::host_claim::find_holder;
use super::pixel::{InstallStatus, Pixel};
use super::setup::find_for;
use super::store;
use crate::accounts::access::Caller;
use crate::accounts::event::EventKind;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// Moves a pixel to another host, where its installation has not been checked. An installed pixel
/// cannot be moved. Without effect for the present host.
pub async fn rename_pixel(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &str,
    host: &SiteHost,
) -> Result<Pixel> {
    let found = find_for(infra, caller, pixel_id).await?;
    let mut transaction = infra.pool.begin().await?;
    let pixel =
        store::lock_pixel(&mut transaction, &found.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    if pixel.install_status == InstallStatus::Installed {
        return Err(Error::InstalledPixelRename);
    }
    if pixel.domain == *host {
        return Ok(pixel);
    }
    let mut invalidation = Invalidation::of_pixel(&pixel.pixel_id);
    let holder = find_holder(&mut transaction, infra, &mut invalidation, host, &pixel.account_id);
    if holder.await?.is_some() {
        return Err(Error::DomainRegistered);
    }
    let now = infra.clock.now();
    let renamed = store::update_domain(&mut transaction, &pixel.pixel_id, host, now).await?;
    infra.changes.commit(transaction, &invalidation).await?;
    tracing::info!(pixel_id = %renamed.pixel_id, "pixel renamed");
    Ok(renamed)
}

/// Deletes a pixel that is not installed, so that its host is free.
///
/// Receipts and policies stay as evidence of the choices.
pub async fn delete_pixel(infra: &Infra, caller: &Caller, pixel_id: &str) -> Result<PixelId> {
    let found = find_for(infra, caller, pixel_id).await?;
    let mut transaction = infra.pool.begin().await?;
    let pixel =
        store::lock_pixel(&mut transaction, &found.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    if pixel.install_status == InstallStatus::Installed {
        return Err(Error::InstalledPixelDelete);
    }
    store::delete_pixel(&mut transaction, &pixel.pixel_id).await?;
    let (now, kind) = (infra.clock.now(), EventKind::PixelDeleted);
    let subject = Some(pixel.pixel_id.as_str());
    caller.note(&mut transaction, now, &pixel.account_id, kind, subject).await?;
    infra.changes.commit(transaction, &Invalidation::of_pixel(&pixel.pixel_id)).await?;
    tracing::info!(pixel_id = %pixel.pixel_id, "pixel deleted");
    Ok(pixel.pixel_id)
}
