use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::claims::host_claim::{Allowance, Terms, claim_host};
use super::pixel::Pixel;
use super::store;
use crate::accounts::access::Caller;
use crate::accounts::actor::Actor;
use crate::accounts::lock_account;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};

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
    let pixel = claim_host(&mut transaction, infra, &mut invalidation, &owner, host, terms).await?;
    infra.changes.commit(transaction, &invalidation).await?;
    Ok(pixel)
}

/// The caller's own pixel, or any for an unlimited caller. Another account's is not found.
pub async fn find_for(infra: &Infra, caller: &Caller, pixel_id: &str) -> Result<Pixel> {
    let pixel_id = PixelId::parse(pixel_id).ok_or(Error::PixelNotFound)?;
    let mut connection = infra.pool.acquire().await?;
    let pixel = match caller.is_unlimited() {
        true => store::find_any_pixel(&mut connection, &pixel_id).await?,
        false => store::find_pixel(&mut connection, caller.account_id(), &pixel_id).await?,
    };
    pixel.ok_or(Error::PixelNotFound)
}

pub async fn list(infra: &Infra, owner: &AccountId) -> Result<Vec<Pixel>> {
    let mut connection = infra.pool.acquire().await?;
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

pub async fn setup(infra: &Infra, owner: &AccountId) -> Result<Setup> {
    let mut connection = infra.pool.acquire().await?;
    let pixel_count = store::count_pixels(&mut connection, owner).await?;
    let installed_count = store::count_installed_pixels(&mut connection, owner).await?;
    Ok(Setup {
        good_standing: true,
        pixel_count,
        installed_count,
        setup_complete: installed_count > 0,
    })
}
