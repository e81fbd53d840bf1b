use super::observation::Observation;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::fetch::FetchError;
use crate::page_analysis::diagnostics::finding::Finding;
use crate::page_analysis::diagnostics::live::LiveTags;
use crate::page_analysis::diagnostics::unreadable::unreadable;
use crate::page_analysis::diagnostics::{Install, examine};
use crate::page_analysis::page::SitePage;
use crate::pixels::pixel::Pixel;
use crate::pixels::store;
use crate::types::ids::PixelRef;

/// Seconds after which a fetch that got no permit may be tried again.
pub const BUSY_PAUSE: u64 = 5;

pub struct PageCheck {
    pub observation: Observation,
    /// Whether the pixel's tag runs on the page. This is stronger evidence than its name in the page.
    pub is_live: bool,
    /// Errors first.
    pub findings: Vec<Finding>,
}

/// Fetches the home page, without holding a database connection.
pub async fn check_page(infra: &Infra, pixel: &Pixel) -> Result<PageCheck> {
    let aliases = {
        let mut connection = infra.pool.acquire().await?;
        store::list_aliases(&mut connection, &pixel.pixel_id).await?
    };
    let fetched = SitePage::fetch(&infra.fetch, pixel.domain.as_str()).await;
    if matches!(fetched, Err(FetchError::Busy)) {
        return Err(Error::Busy { retry_after: BUSY_PAUSE });
    }
    let observation = Observation::of(&fetched, &pixel.pixel_id, &aliases);
    infra.metrics.install_checks.count(observation.kind());
    let is_live = fetched.as_ref().is_ok_and(|page| {
        live_tags(&infra.config, infra.base_url(), page).has(&pixel.pixel_id, &aliases)
    });
    let (config, base_url) = (&infra.config, infra.base_url());
    let findings = findings(config, base_url, pixel, &aliases, &fetched, observation);
    Ok(PageCheck { observation, is_live, findings })
}

pub fn live_tags(config: &Config, base_url: &str, page: &SitePage) -> LiveTags {
    LiveTags::of(page, base_url, &config.tag_cdn_base)
}

fn findings(
    config: &Config,
    base_url: &str,
    pixel: &Pixel,
    aliases: &[PixelRef],
    fetched: &Result<SitePage, FetchError>,
    observation: Observation,
) -> Vec<Finding> {
    if let Observation::Failed(error) = observation {
        return vec![unreadable(error)];
    }
    let install = Install {
        pixel_id: &pixel.pixel_id,
        aliases,
        asks: pixel.consent_enabled,
        is_present: observation == Observation::Present,
        base_url,
        tag_network: &config.tag_cdn_base,
    };
    match fetched {
        Ok(page) => examine(page, &install),
        Err(_) => Vec::new(),
    }
}
