//! A look at a pixel's site: is the pixel there, and what is in its way?

use super::doctor::finding::{self, Finding};
use super::doctor::{Install, examine};
use super::pixel::Pixel;
use super::sighting::Sighting;
use super::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::fetch::FetchError;

/// Seconds after which a fetch that found no place may be tried again.
pub const BUSY_PAUSE: u64 = 5;

/// What one look gave.
pub struct Look {
    pub sighting: Sighting,
    /// Errors first.
    pub findings: Vec<Finding>,
}

/// Fetches the home page. No connection to the database is held meanwhile.
pub async fn look_at(infra: &Infra, pixel: &Pixel) -> Result<Look> {
    let aliases = {
        let mut connection = infra.pool.acquire().await?;
        store::list_aliases(&mut connection, &pixel.pixel_id).await?
    };
    let fetched = infra.fetch.home_page(pixel.domain.as_str()).await;
    if matches!(fetched, Err(FetchError::Busy)) {
        return Err(Error::Busy { retry_after: BUSY_PAUSE });
    }
    let sighting = Sighting::of(&fetched, &pixel.pixel_id, &aliases);
    infra.metrics.install_checks.count(sighting.kind());
    let install = Install {
        pixel_id: &pixel.pixel_id,
        aliases: &aliases,
        asks: pixel.consent_enabled,
        is_present: sighting == Sighting::Present,
        base_url: infra.base_url(),
        tag_network: &infra.config.tag_cdn_base,
    };
    let findings = match (&fetched, sighting) {
        (_, Sighting::Failed(error)) => vec![finding::unreadable(error)],
        (Ok(page), _) => examine(page, &install),
        (Err(_), _) => Vec::new(),
    };
    Ok(Look { sighting, findings })
}
