//! What can be asked for about pixels themselves: seeing, making, renaming and deleting them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::accounts::access::{Caller, GoodStanding, PipelineKey};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::pixels::change;
use crate::pixels::claims::host_claim::contacts_need_consent;
use crate::pixels::input::{OfPixel, OnPixel, PixelRequest};
use crate::pixels::pipeline::{self, PipelinePixel, PipelineRequest};
use crate::pixels::setup::{self, Setup};
use crate::pixels::view::{PixelList, PixelView};
use crate::types::ids::PixelId;

/// How far the setup has come.
pub struct ShowSetup;

impl Capability for ShowSetup {
    const NAME: &'static str = "show_setup";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Tells how far the account has come: pixels, installed ones, and whether the setup is \
         complete.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = NoInput;
    type Output = Setup;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Setup> {
        setup::setup(infra, caller.account_id()).await
    }
}

/// The account's pixels, oldest first.
pub struct ListPixels;

impl Capability for ListPixels {
    const NAME: &'static str = "list_pixels";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described("Lists the account's pixels, oldest first."));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = NoInput;
    type Output = PixelList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<PixelList> {
        Ok(setup::list(infra, caller.account_id()).await?.into())
    }
}

/// A pixel for a site, or the one that the account has for it.
pub struct CreatePixel;

impl Capability for CreatePixel {
    const NAME: &'static str = "create_pixel";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Creates the pixel of a site, or returns the one that the account has for it. `domain` \
         is the host alone, such as `shop.example`. A plan includes three pixels. Next: \
         `configure_consent`.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = PixelRequest;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        let own = [DomainRegistered, PixelAllowanceReached { remaining: 0 }, PixelNotCreated];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(infra: &Infra, caller: Caller, request: PixelRequest) -> Result<PixelView> {
        let host = request.host(infra)?;
        let (owner, need) = (caller.account_id(), contacts_need_consent(&caller));
        let pixel = setup::create_pixel(infra, owner, &host, need, Some(&caller.actor)).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}

/// A pixel with its present snippet.
pub struct ShowPixel;

impl Capability for ShowPixel {
    const NAME: &'static str = "show_pixel";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described(
            "Shows one pixel with its present snippet: the line to paste into the site.",
        ));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfPixel;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<PixelView> {
        let pixel = setup::find_for(infra, &caller, &pixel_id).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}

/// A pixel that is not installed moves to another host.
pub struct RenamePixel;

impl Capability for RenamePixel {
    const NAME: &'static str = "rename_pixel";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Moves a pixel that is not installed to another host; its install must be checked anew.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OnPixel<PixelRequest>;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        let own = [PixelNotFound, InstalledPixelRename, DomainRegistered];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<PixelRequest>,
    ) -> Result<PixelView> {
        let host = input.host(infra)?;
        let pixel = change::rename_pixel(infra, &caller, &pixel_id, &host).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}

/// A pixel that is gone.
#[derive(Serialize, JsonSchema)]
pub struct DeletedPixel {
    pixel_id: PixelId,
    deleted: bool,
}

/// A pixel that is not installed goes, and its contacts with it.
pub struct DeletePixel;

impl Capability for DeletePixel {
    const NAME: &'static str = "delete_pixel";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Deletes a pixel that is not installed, with its contacts and aliases. Its receipts \
         stay: they prove that choices were made. Cannot be undone.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfPixel;
    type Output = DeletedPixel;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, InstalledPixelDelete]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<DeletedPixel> {
        let pixel_id = change::delete_pixel(infra, &caller, &pixel_id).await?;
        Ok(DeletedPixel { pixel_id, deleted: true })
    }
}

/// A pixel that an operator's pipeline makes for a customer.
pub struct CreatePipelinePixel;

impl Capability for CreatePipelinePixel {
    const NAME: &'static str = "create_pipeline_pixel";
    type Part = Infra;
    type Access = PipelineKey<Operates>;
    type Input = PipelineRequest;
    type Output = PipelinePixel;

    fn refusals() -> Vec<Error> {
        vec![
            PipelineUnknown,
            CustomerRequired,
            DomainRequired,
            DomainIsPage,
            DomainNotHost,
            CustomerNotInGoodStanding,
            AccountNotFound,
            DomainRegistered,
            PixelNotCreated,
            missing_field("domain"),
        ]
    }

    async fn run(infra: &Infra, _: Caller, request: PipelineRequest) -> Result<PipelinePixel> {
        let order = request.check(&infra.base_host())?;
        pipeline::create_pipeline_pixel(infra, order).await
    }
}
