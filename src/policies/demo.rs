use chrono::{DateTime, Duration, Utc};
use sqlx::PgPool;

use super::configuration::{self, Naming};
use super::configured::Configured;
use super::consent_request::ConsentRequest;
use crate::accounts::demo;
use crate::error::Result;
use crate::infra::Infra;
use crate::pixels;
use crate::pixels::setup::create_pixel;
use crate::types::consent::Purpose;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

pub const LIFE: Duration = Duration::days(30);

/// Several purposes, so that "choose" offers a choice.
const PURPOSES: [Purpose; 3] = [Purpose::Analytics, Purpose::Resolution, Purpose::Newsletter];

pub struct DemoRequest {
    pub host: SiteHost,
    pub controller_name: String,
}

pub struct DemoTag {
    pub host: SiteHost,
    pub controller_name: String,
    pub keeps_name: bool,
    pub configured: Configured,
    /// The time at which it is deleted; `None` for the tag of the service's own host.
    pub ends_at: Option<DateTime<Utc>>,
}

/// Creates or reuses the demo pixel of a host and turns its popup on. Refuses a host of another account.
pub async fn provision(infra: &Infra, wish: DemoRequest, naming: Naming) -> Result<DemoTag> {
    let pixel = create_pixel(infra, &demo::account_id(), &wish.host, false, None).await?;
    let request = ConsentRequest {
        controller_name: Some(wish.controller_name.clone()),
        purposes: Some(PURPOSES.map(|purpose| purpose.as_str().to_owned()).into()),
        ..ConsentRequest::default()
    };
    let settings = request.check()?;
    let revised = configuration::turn_on(infra, None, &pixel, settings, naming).await?;
    let controller_name = revised.revision.policy.text.controller.name;
    let configured = revised.configured;
    let ends_at = match wish.host.as_str() == infra.base_host() {
        true => None,
        false => made_at(&infra.pool, &pixel.pixel_id).await?.map(|made_at| made_at + LIFE),
    };
    let keeps_name = controller_name != wish.controller_name;
    Ok(DemoTag { host: pixel.domain, controller_name, keeps_name, configured, ends_at })
}

async fn made_at(pool: &PgPool, pixel_id: &PixelId) -> Result<Option<DateTime<Utc>>> {
    let mut connection = pool.acquire().await?;
    pixels::find_created_at(&mut connection, pixel_id).await
}

/// The demo account's pixel for the service's own host. `None` when that host is an IP address, or
/// another account has a pixel for it.
pub async fn own_pixel(pool: &PgPool, own_host: &str) -> Result<Option<PixelId>> {
    let Ok(host) = SiteHost::parse(own_host, own_host) else { return Ok(None) };
    let mut connection = pool.acquire().await?;
    let pixel = pixels::find_pixel_by_host(&mut connection, &host).await?;
    let ours = pixel.filter(|pixel| pixel.account_id == demo::account_id());
    Ok(ours.map(|pixel| pixel.pixel_id))
}
