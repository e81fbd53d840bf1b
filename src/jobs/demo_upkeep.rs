//! The demo account is there before the first request, and its tags end in time.

use crate::accounts::demo;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::News;
use crate::pixels;
use crate::policies::configuration::Naming;
use crate::policies::demo::{DemoWish, LIFE, provision};
use crate::types::host::SiteHost;

/// Who asks on the service's own host: the shop of the preview page.
const OWN_CONTROLLER: &str = "Halden Tea";

/// The demo account, and its tag for the service's own host, with which one can try the popup
/// before naming a site.
pub async fn prepare(infra: &Infra) -> Result<()> {
    let mut connection = infra.pool.acquire().await?;
    demo::open(&mut connection, infra.clock.now()).await?;
    drop(connection);
    let own_host = infra.base_host();
    // An address instead of a name can have no pixel.
    let Ok(host) = SiteHost::parse(&own_host, &own_host) else { return Ok(()) };
    let wish = DemoWish { host, controller_name: OWN_CONTROLLER.to_owned() };
    match provision(infra, wish, Naming::Anew).await {
        // On a loopback name, a real pixel for the service's own host goes before.
        Ok(_) | Err(Error::DomainRegistered) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes the tags whose time is over. Their receipts stay.
pub async fn end_tags(infra: &Infra) -> Result<()> {
    let now = infra.clock.now();
    let mut transaction = infra.pool.begin().await?;
    let ended = pixels::store::delete_pixels_made_until(
        &mut transaction,
        &demo::account_id(),
        now - LIFE,
        &infra.base_host(),
    )
    .await?;
    let mut news = News::none();
    ended.iter().for_each(|pixel_id| news.add_pixel(pixel_id));
    infra.changes.commit(transaction, &news).await?;
    if !ended.is_empty() {
        tracing::info!(ended = ended.len(), "demo tags ended");
    }
    Ok(())
}
