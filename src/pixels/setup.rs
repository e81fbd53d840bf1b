use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::claims::host_claim::{Allowance, Terms, claim_host, contacts_need_consent};
use super::input::{OfPixel, PixelRequest};
use super::pixel::{InstallStatus, Pixel};
use super::store;
use super::view::{PixelList, PixelView};
use crate::accounts::access::{AllSites, Caller, GoodStanding};
use crate::accounts::actor::Actor;
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::lock_account;
use crate::accounts::scope::{Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId, PixelParam};

/// Creates the account's pixel for a host, or returns it. `actor` is `None` for the demo.
pub async fn create_pixel(
    infra: &Infra,
    owner: &AccountId,
    host: &SiteHost,
    contacts_need_consent: bool,
    actor: Option<&Actor>,
) -> Result<Pixel> {
    let mut transaction = infra.pool.begin().await?;
    let owner = lock_account(&mut transaction, owner).await?.ok_or(Error::NotInGoodStanding)?;
    let mut invalidation = Invalidation::none();
    let terms = Terms { allowance: Allowance::Enforced, contacts_need_consent, actor };
    let (clock, own_host) = (&infra.clock, infra.base_host());
    let pixel =
        claim_host(&mut transaction, clock, &own_host, &mut invalidation, &owner, host, terms)
            .await?;
    infra.changes.commit(transaction, &invalidation).await?;
    Ok(pixel)
}

/// The caller's own pixel, or any pixel for an unlimited caller. Fails with [`Error::PixelNotFound`] for a pixel of
/// another account or outside the caller's restriction. Every capability on a pixel calls this first.
pub async fn find_for(pool: &PgPool, caller: &Caller, pixel_id: &PixelParam) -> Result<Pixel> {
    let pixel_id = pixel_id.as_id().ok_or(Error::PixelNotFound)?;
    find_by_id(pool, caller, pixel_id).await
}

/// Like [`find_for`], for a parsed id.
pub async fn find_by_id(pool: &PgPool, caller: &Caller, pixel_id: &PixelId) -> Result<Pixel> {
    let mut connection = pool.acquire().await?;
    let pixel = match caller.is_unlimited() {
        true => store::find_any_pixel(&mut connection, pixel_id).await?,
        false => store::find_pixel(&mut connection, caller.account_id(), pixel_id).await?,
    };
    let is_included = |pixel: &Pixel| caller.sites.include(pixel.pixel_id.as_str());
    pixel.filter(is_included).ok_or(Error::PixelNotFound)
}

pub async fn list(pool: &PgPool, owner: &AccountId) -> Result<Vec<Pixel>> {
    let mut connection = pool.acquire().await?;
    store::list_pixels(&mut connection, owner).await
}

/// The pixels of several accounts, in no particular order. The caller must have checked the access to them.
pub async fn list_of_accounts(pool: &PgPool, owners: &[String]) -> Result<Vec<Pixel>> {
    let mut connection = pool.acquire().await?;
    store::list_pixels_of_accounts(&mut connection, owners).await
}

async fn list_for(pool: &PgPool, caller: &Caller) -> Result<Vec<Pixel>> {
    let mut pixels = list(pool, caller.account_id()).await?;
    pixels.retain(|pixel| caller.sites.include(pixel.pixel_id.as_str()));
    Ok(pixels)
}

/// The number of pixels, and of those that are installed.
async fn count_for(pool: &PgPool, caller: &Caller) -> Result<(i64, i64)> {
    if !caller.sites.are_all() {
        let pixels = list_for(pool, caller).await?;
        let is_installed = |pixel: &&Pixel| pixel.install_status == InstallStatus::Installed;
        let installed = pixels.iter().filter(is_installed).count();
        let count = |count: usize| i64::try_from(count).map_err(Error::internal);
        return Ok((count(pixels.len())?, count(installed)?));
    }
    let (mut connection, owner) = (pool.acquire().await?, caller.account_id());
    let all = store::count_pixels(&mut connection, owner).await?;
    Ok((all, store::count_installed_pixels(&mut connection, owner).await?))
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
pub struct ShowSetup;

impl Capability for ShowSetup {
    const NAME: &'static str = "show_setup";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show the setup",
        "Tells how far the account has come: pixels, installed ones, and whether the setup is \
         complete.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = NoInput;
    type Output = Setup;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Setup> {
        let (pixel_count, installed_count) = count_for(&infra.pool, &caller).await?;
        Ok(Setup {
            good_standing: true,
            pixel_count,
            installed_count,
            setup_complete: installed_count > 0,
        })
    }
}

/// The account's pixels, oldest first.
pub struct ListPixels;

impl Capability for ListPixels {
    const NAME: &'static str = "list_pixels";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described("List pixels", "Lists the account's pixels, oldest first."));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = NoInput;
    type Output = PixelList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<PixelList> {
        Ok(list_for(&infra.pool, &caller).await?.into())
    }
}

pub struct CreatePixel;

impl Capability for CreatePixel {
    const NAME: &'static str = "create_pixel";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Create a pixel",
        "Creates the pixel of a site, or returns the one that the account has for it. A plan \
         includes three pixels. Next: `configure_consent`. On localhost use `test_snippet`.",
    ));
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = PixelRequest;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::DomainRegistered,
            Error::MoveUnderWay,
            Error::PixelAllowanceReached { remaining: 0 },
            Error::PixelNotCreated,
        ];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(infra: &Infra, caller: Caller, request: PixelRequest) -> Result<PixelView> {
        let host = request.host(&infra.base_host())?;
        let (owner, need) = (caller.account_id(), contacts_need_consent(&caller));
        let pixel = create_pixel(infra, owner, &host, need, Some(&caller.actor)).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}

pub struct ShowPixel;

impl Capability for ShowPixel {
    const NAME: &'static str = "show_pixel";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show a pixel",
        "Shows one pixel with its snippet, the line to paste into the site, and `test_snippet` \
         for localhost.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfPixel;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<PixelView> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}
