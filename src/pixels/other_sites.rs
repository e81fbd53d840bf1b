//! The other sites of an account, for the menu that leads from one site to another.

use super::store;
pub use super::store::OtherSite;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::error::Result;
use crate::infra::Infra;
use crate::types::ids::PixelParam;

/// The sites of a menu.
const MOST: i64 = 20;

/// The first sites by host that the caller may use, besides one. Only the console's menu shows them.
pub struct ListOtherSites;

impl Capability for ListOtherSites {
    const NAME: &'static str = "list_other_sites";
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = PixelParam;
    type Output = Vec<OtherSite>;

    async fn run(infra: &Infra, caller: Caller, pixel_id: PixelParam) -> Result<Vec<OtherSite>> {
        let listed = caller.sites.listed();
        if listed.is_some_and(|listed| listed.len() < 2) {
            return Ok(Vec::new());
        }
        let mut connection = infra.pool.acquire().await?;
        let (owner, pixel_id) = (caller.account_id(), pixel_id.to_string());
        store::list_other_sites(&mut connection, owner, &pixel_id, listed, MOST).await
    }
}
