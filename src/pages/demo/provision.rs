//! Making a tag on the demo account.

use chrono::{DateTime, Duration, Utc};

use super::form::DemoWish;
use crate::accounts::demo;
use crate::consent::Purpose;
use crate::consent::configuration::{self, Configured, ConsentRequest};
use crate::error::Result;
use crate::ids::PixelId;
use crate::pixels::pixel::create_pixel;
use crate::pixels::{self, SiteHost};
use crate::platform::Platform;

/// How long a demo tag lasts after it was made for the first time.
pub const LIFE: Duration = Duration::days(30);

/// What demo visitors are asked: enough for "choose" to be a choice.
const PURPOSES: [Purpose; 3] = [Purpose::Analytics, Purpose::Resolution, Purpose::Newsletter];

/// A tag that works.
pub struct DemoTag {
    pub host: SiteHost,
    pub controller_name: String,
    pub configured: Configured,
    /// When it ends by itself; the tag of the service's own host does not.
    pub ends_at: Option<DateTime<Utc>>,
}

/// Creates or reuses the demo account's pixel for a host and turns its popup on. A host of any
/// other account is refused.
pub async fn provision(platform: &Platform, wish: DemoWish) -> Result<DemoTag> {
    let pixel = create_pixel(platform, &demo::account_id(), &wish.host).await?;
    let request = ConsentRequest {
        controller_name: Some(wish.controller_name.clone()),
        purposes: Some(PURPOSES.map(|purpose| purpose.as_str().to_owned()).into()),
        ..ConsentRequest::default()
    };
    let revised = configuration::turn_on(platform, &pixel.pixel_id, request.check()?).await?;
    let configured = revised.configured;
    let ends_at = match wish.host.as_str() == platform.base_host() {
        true => None,
        false => made_at(platform, &pixel.pixel_id).await?.map(|made_at| made_at + LIFE),
    };
    Ok(DemoTag { host: pixel.domain, controller_name: wish.controller_name, configured, ends_at })
}

async fn made_at(platform: &Platform, pixel_id: &PixelId) -> Result<Option<DateTime<Utc>>> {
    let mut connection = platform.pool.acquire().await?;
    pixels::store::find_created_at(&mut connection, pixel_id).await
}

/// The demo account's pixel for the service's own host. There is none when that host is an
/// address, or when a real account has a pixel for it.
pub async fn own_pixel(platform: &Platform) -> Result<Option<PixelId>> {
    let own_host = platform.base_host();
    let Ok(host) = SiteHost::parse(&own_host, &own_host) else { return Ok(None) };
    let mut connection = platform.pool.acquire().await?;
    let pixel = pixels::store::find_pixel_by_host(&mut connection, &host).await?;
    let ours = pixel.filter(|pixel| pixel.account_id == demo::account_id());
    Ok(ours.map(|pixel| pixel.pixel_id))
}
