//! The demo account is there before the first request, and its tags end in time.

use chrono::Duration;
use rocket::fairing::{self, Fairing, Info, Kind};
use rocket::{Build, Orbit, Rocket};

use super::form::DemoWish;
use super::provision::{LIFE, provision};
use crate::accounts::demo;
use crate::error::{Error, Result};
use crate::pixels::{self, SiteHost};
use crate::platform::Platform;
use crate::platform::rounds::keep_doing;

/// How often ended tags are looked for, by the service's clock.
const EVERY: Duration = Duration::hours(1);
/// Who asks on the service's own host: the shop of the preview page.
const OWN_CONTROLLER: &str = "Halden Tea";

/// Opens the demo account before serving, and deletes its ended tags while the service runs.
///
/// A failure never keeps the service from starting: the tags of customers' sites matter more.
pub struct DemoUpkeep;

#[rocket::async_trait]
impl Fairing for DemoUpkeep {
    fn info(&self) -> Info {
        Info { name: "Demo upkeep", kind: Kind::Ignite | Kind::Liftoff }
    }

    async fn on_ignite(&self, rocket: Rocket<Build>) -> fairing::Result {
        if let Some(platform) = rocket.state::<Platform>()
            && let Err(error) = prepare(platform).await
        {
            tracing::error!(?error, "the demo account could not be prepared");
        }
        Ok(rocket)
    }

    async fn on_liftoff(&self, rocket: &Rocket<Orbit>) {
        let Some(platform) = rocket.state::<Platform>().cloned() else { return };
        keep_doing(platform.clock.clone(), EVERY, rocket.shutdown(), move || {
            let platform = platform.clone();
            async move {
                if let Err(error) = end_tags(&platform).await
                    && !platform.pool.is_closed()
                {
                    tracing::error!(?error, "ended demo tags could not be deleted");
                }
            }
        });
    }
}

/// The demo account, and its tag for the service's own host, with which one can try the popup
/// before naming a site.
async fn prepare(platform: &Platform) -> Result<()> {
    let mut connection = platform.pool.acquire().await?;
    demo::open(&mut connection, platform.clock.now()).await?;
    drop(connection);
    let own_host = platform.base_host();
    // An address instead of a name can have no pixel.
    let Ok(host) = SiteHost::parse(&own_host, &own_host) else { return Ok(()) };
    let wish = DemoWish { host, controller_name: OWN_CONTROLLER.to_owned() };
    match provision(platform, wish).await {
        // Somebody's real pixel for the service's own host goes before.
        Ok(_) | Err(Error::DomainRegistered) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes the tags whose time is over. Their receipts stay.
async fn end_tags(platform: &Platform) -> Result<()> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let ended = pixels::store::delete_pixels_made_until(
        &mut transaction,
        &demo::account_id(),
        now - LIFE,
        &platform.base_host(),
    )
    .await?;
    if ended.pixels > 0 {
        platform.changes.commit(transaction).await?;
        tracing::info!(ended = ended.pixels, "demo tags ended");
    }
    Ok(())
}
