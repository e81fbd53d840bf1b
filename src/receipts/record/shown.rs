use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Provenance;
use crate::error::Result;
use crate::infra::limits::account_rate::OperationKind;
use crate::infra::limits::per_pixel::VisitorWrite;
use crate::policies::sites::Site;
use crate::receipts::service::Receipts;
use crate::receipts::store::shown::ShownOn;
use crate::types::host::PageUrl;
use crate::types::ids::{PixelRef, VisitorId};

/// The popup opened for a visitor.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ShownRequest {
    /// Canonical id, alias or test id.
    #[schemars(with = "PixelRef")]
    #[schema(value_type = PixelRef)]
    pub pixel_id: Option<String>,
    #[schemars(with = "VisitorId")]
    #[schema(value_type = VisitorId)]
    pub visitor_id: Option<String>,
    /// The page, of the pixel's host or a subdomain of it.
    #[schemars(with = "String")]
    #[schema(value_type = String, example = "https://shop.example/cart")]
    pub url: Option<String>,
}

impl Receipts {
    /// Counts an impression once per visitor, pixel and day. Invalid requests are ignored instead of refused,
    /// so that they do not reveal which pixels exist.
    pub async fn count_shown(&self, request: &ShownRequest, provenance: &Provenance) -> Result<()> {
        let visitor_id = request.visitor_id.as_deref().and_then(VisitorId::parse);
        let page = request.url.as_deref().and_then(PageUrl::parse);
        let is_nobody = provenance.sec_gpc || provenance.is_bot;
        let (Some(visitor_id), Some(page), false) = (visitor_id, page, is_nobody) else {
            return Ok(());
        };
        let name = request.pixel_id.as_deref().unwrap_or_default();
        let site = self.sites.find_text(name).await?;
        let counted = site.filter(|site| self.counts_shown(site, &page, provenance));
        let Some(site) = counted else { return Ok(()) };
        if self
            .infra
            .account_rates
            .wait(OperationKind::Write, &site.pixel.account_id)
            .await
            .is_err()
        {
            return Ok(());
        }
        let mut connection = self.infra.pool.acquire().await?;
        let shown_on = ShownOn::at(self.infra.clock.now(), site.pixel.day_zone);
        let pixel_id = &site.pixel.pixel_id;
        self.storage.insert_shown(&mut connection, pixel_id, shown_on, &visitor_id).await
    }

    /// Whether the popup is on, page and origin belong to the site, and the site is within its limit.
    fn counts_shown(&self, site: &Site, page: &PageUrl, provenance: &Provenance) -> bool {
        let (clock, base_url) = (&self.infra.clock, self.infra.base_url());
        let is_of_the_site = |page: &PageUrl| site.admits(page, clock, base_url);
        let origin = provenance.origin.as_deref();
        site.policy_in_force().is_some()
            && is_of_the_site(page)
            && origin.is_none_or(|origin| {
                PageUrl::parse(origin).is_some_and(|origin| is_of_the_site(&origin))
            })
            && self.limits.admit(VisitorWrite::Shown, &site.pixel.pixel_id).is_ok()
    }
}
