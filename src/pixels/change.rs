use schemars::JsonSchema;
use serde::Serialize;

use super::claims::host_claim::find_holder;
use super::input::{OfPixel, OnPixel, PixelRequest};
use super::pixel::{InstallStatus, Pixel};
use super::setup::find_for;
use super::store;
use super::view::PixelView;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::{Governs, Operates};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::host::SiteHost;
use crate::types::ids::{PixelId, PixelParam};

/// Gives a pixel another host, at which its installation counts as not checked. Fails for a pixel that is
/// installed or moving. Does nothing if the pixel has this host already.
pub async fn rename_pixel(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &PixelParam,
    host: &SiteHost,
) -> Result<Pixel> {
    let found = find_for(&infra.pool, caller, pixel_id).await?;
    let mut transaction = infra.pool.begin().await?;
    let pixel =
        store::lock_pixel(&mut transaction, &found.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    if pixel.install_status == InstallStatus::Installed {
        return Err(Error::InstalledPixelRename);
    }
    if pixel.domain == *host {
        return Ok(pixel);
    }
    let now = infra.clock.now();
    if store::moves::find_move(&mut transaction, &pixel.pixel_id, now).await?.is_some() {
        return Err(Error::MoveUnderWay);
    }
    let mut invalidation = Invalidation::of_pixel(&pixel.pixel_id);
    let (clock, taker, own_host) = (&infra.clock, &pixel.account_id, infra.base_host());
    let holder = find_holder(&mut transaction, clock, &own_host, &mut invalidation, host, taker);
    if holder.await?.is_some() {
        return Err(Error::DomainRegistered);
    }
    let renamed = store::update_domain(&mut transaction, &pixel.pixel_id, host, now).await?;
    infra.changes.commit(transaction, &invalidation).await?;
    tracing::info!(pixel_id = %renamed.pixel_id, "pixel renamed");
    Ok(renamed)
}

/// A pixel that is gone.
#[derive(Serialize, JsonSchema)]
pub struct DeletedPixel {
    pixel_id: PixelId,
    deleted: bool,
}

/// Deletes a pixel that is not installed, so that its host is free again. Its receipts and policies
/// stay: they prove that choices were made.
pub struct DeletePixel;

impl Capability for DeletePixel {
    const NAME: &'static str = "delete_pixel";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Delete a pixel",
        "Deletes a pixel that is not installed, with its contacts and aliases. Its receipts \
         stay: they prove that choices were made. Cannot be undone.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfPixel;
    type Output = DeletedPixel;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::InstalledPixelDelete]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<DeletedPixel> {
        let found = find_for(&infra.pool, &caller, &pixel_id).await?;
        let mut transaction = infra.pool.begin().await?;
        let pixel = store::lock_pixel(&mut transaction, &found.pixel_id)
            .await?
            .ok_or(Error::PixelNotFound)?;
        if pixel.install_status == InstallStatus::Installed {
            return Err(Error::InstalledPixelDelete);
        }
        store::delete_pixel(&mut transaction, &pixel.pixel_id).await?;
        let (now, kind) = (infra.clock.now(), ActivityKind::PixelDeleted);
        let subject = Some(pixel.pixel_id.as_str());
        caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        infra.changes.commit(transaction, &Invalidation::of_pixel(&pixel.pixel_id)).await?;
        tracing::info!(pixel_id = %pixel.pixel_id, "pixel deleted");
        let pixel_id = pixel.pixel_id;
        Ok(DeletedPixel { pixel_id, deleted: true })
    }
}

/// A pixel that is not installed moves to another host.
pub struct RenamePixel;

impl Capability for RenamePixel {
    const NAME: &'static str = "rename_pixel";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Rename a pixel",
        "Moves a pixel that is not installed to another host; its install must be checked anew.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OnPixel<PixelRequest>;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::PixelNotFound,
            Error::InstalledPixelRename,
            Error::DomainRegistered,
            Error::MoveUnderWay,
        ];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<PixelRequest>,
    ) -> Result<PixelView> {
        let host = input.host(&infra.base_host())?;
        let pixel = rename_pixel(infra, &caller, &pixel_id, &host).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}
