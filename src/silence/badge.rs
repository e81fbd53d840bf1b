use chrono::{DateTime, Utc};
use sqlx::PgPool;

use super::store;
use super::view::SiteVerdict;
use crate::error::{Error, Result};
use crate::pixels::find_any_pixel;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// The last verdict of the service; `None` before its first visit.
pub struct PublicVerdict {
    pub domain: SiteHost,
    pub last: Option<(SiteVerdict, DateTime<Utc>)>,
    /// Hosts that this report lists separately because the owner has excluded them.
    pub allowed: Vec<String>,
}

/// The public verdict on a pixel's site. Not found unless the owner has turned the public page on.
pub async fn find_public(pool: &PgPool, pixel_id: &str) -> Result<PublicVerdict> {
    let pixel_id = PixelId::parse(pixel_id).ok_or(Error::NotFound)?;
    let mut connection = pool.acquire().await?;
    let pixel = find_any_pixel(&mut connection, &pixel_id).await?.ok_or(Error::NotFound)?;
    let site = store::sites::find_site(&mut connection, &pixel_id).await?;
    if !site.is_public {
        return Err(Error::NotFound);
    }
    let last = site.known.own_verdict.zip(site.known.own_at);
    let allowed = match last {
        Some((_, at)) => {
            store::reports::find_own_allowed_hosts(&mut connection, &pixel_id, at).await?
        }
        None => Vec::new(),
    };
    Ok(PublicVerdict { domain: pixel.domain, last, allowed })
}
