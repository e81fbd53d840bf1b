//! Upkeep of the demo account: creates it before the first request, and deletes its expired tags.

use crate::accounts::demo;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::pixels;
use crate::policies::configuration::Naming;
use crate::policies::demo::{DemoRequest, LIFE, provision};
use crate::types::host::SiteHost;

const OWN_CONTROLLER: &str = "Halden Tea";

pub async fn prepare(infra: &Infra) -> Result<()> {
    let mut connection = infra.pool.acquire().await?;
    demo::open(&mut connection, infra.clock.now()).await?;
    drop(connection);
    let own_host = infra.base_host();
    // A host that is an IP address cannot have a pixel.
    let Ok(host) = SiteHost::parse(&own_host, &own_host) else { return Ok(()) };
    let wish = DemoRequest { host, controller_name: OWN_CONTROLLER.to_owned() };
    match provision(infra, wish, Naming::Anew).await {
        // A pixel that a person has created for the service's own host, on a loopback name, takes precedence.
        Ok(_) | Err(Error::DomainRegistered) => Ok(()),
        Err(error) => Err(error),
    }
}

pub async fn end_tags(infra: &Infra) -> Result<()> {
    let now = infra.clock.now();
    let mut transaction = infra.pool.begin().await?;
    let ended = pixels::delete_pixels_made_until(
        &mut transaction,
        &demo::account_id(),
        now - LIFE,
        &infra.base_host(),
    )
    .await?;
    let mut invalidation = Invalidation::none();
    ended.iter().for_each(|pixel_id| invalidation.add_pixel(pixel_id));
    infra.changes.commit(transaction, &invalidation).await?;
    if !ended.is_empty() {
        tracing::info!(ended = ended.len(), "demo tags ended");
    }
    Ok(())
}
