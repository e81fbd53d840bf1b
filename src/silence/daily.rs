//! Watches every installed site once a day, at a random time. All nodes together watch one site at a time.

use chrono::{DateTime, Duration, Utc};
use rand::RngExt;
use sqlx::{PgConnection, PgPool};

use super::intake::{Taken, take};
use super::running::run;
use super::store::sites::{DueSite, lock_due, update_plan};
use super::{mails, store};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::find_any_pixel;
use crate::watch::RunError;

const DAY: Duration = Duration::days(1);
/// The duration of a lease, after which other nodes can watch if its node died. Longer than any run.
const TURN: Duration = Duration::minutes(8);
/// Maximum number of pixels that are planned at once.
const MOST_PLANNED: i64 = 10_000;

/// Whether the service watches sites: this node has a browser, or a node has held the lease within a day.
pub async fn watches_sites(
    connection: &mut PgConnection,
    config: &Config,
    clock: &Clock,
) -> Result<bool> {
    if config.watch_browser.is_some() {
        return Ok(true);
    }
    store::leases::has_lease_since(connection, clock.now() - DAY).await
}

/// Plans the first watch of installed pixels without a plan, at a random time within the next day.
pub async fn plan(infra: &Infra) -> Result<()> {
    if infra.config.watch_browser.is_none() {
        return Ok(());
    }
    let mut connection = infra.pool.acquire().await?;
    for pixel_id in store::sites::list_unplanned(&mut connection, MOST_PLANNED).await? {
        if infra.shutdown.has_begun() {
            break;
        }
        let after = Duration::seconds(rand::rng().random_range(0..DAY.num_seconds()));
        store::sites::upsert_plan(&mut connection, &pixel_id, infra.clock.now() + after).await?;
    }
    Ok(())
}

/// Watches all sites that are due, one after the other, unless another node holds the lease.
pub async fn watch_due(infra: &Infra) -> Result<()> {
    if infra.config.watch_browser.is_none() {
        return Ok(());
    }
    while !infra.shutdown.has_begun()
        && let Some(lease) = take_lease(&infra.pool, &infra.clock).await?
    {
        // Delays the shutdown until the lease is ended. Otherwise no node could watch until it expires.
        let _guard = infra.shutdown.delay();
        let watched = watch_next(infra).await;
        let mut connection = infra.pool.acquire().await?;
        store::leases::end_lease(&mut connection, lease, infra.clock.now()).await?;
        if !watched? {
            break;
        }
    }
    Ok(())
}

async fn take_lease(pool: &PgPool, clock: &Clock) -> Result<Option<DateTime<Utc>>> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    let until = now + TURN;
    Ok(store::leases::take_lease(&mut connection, now, until).await?.then_some(until))
}

/// Watches the most overdue site; `false` if none is due.
async fn watch_next(infra: &Infra) -> Result<bool> {
    let Some(due) = take_due(&infra.pool, &infra.clock).await? else { return Ok(false) };
    match watch(infra, &due).await {
        // The pixel was deleted or moved meanwhile.
        Ok(()) | Err(Error::PixelNotFound) => {}
        Err(Error::DatabaseUnavailable) => return Err(Error::DatabaseUnavailable),
        Err(error) => {
            tracing::error!(?error, pixel_id = %due.pixel_id, "a site could not be watched");
        }
    }
    Ok(true)
}

/// Takes the most overdue site. It is planned as after a failure, so that it is retried soon if this node dies.
async fn take_due(pool: &PgPool, clock: &Clock) -> Result<Option<DueSite>> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    let due = lock_due(&mut transaction, now).await?;
    if let Some(DueSite { pixel_id, failures }) = &due {
        let retry = now + pause_after(*failures);
        update_plan(&mut transaction, pixel_id, retry, failures.saturating_add(1)).await?;
    }
    transaction.commit().await?;
    Ok(due)
}

/// Half an hour after the first failure, doubled after each further failure, at most a day.
fn pause_after(failures: i32) -> Duration {
    Duration::minutes(30 << failures.clamp(0, 6)).min(DAY)
}

async fn watch(infra: &Infra, DueSite { pixel_id, failures }: &DueSite) -> Result<()> {
    let (pixel, site) = {
        let mut connection = infra.pool.acquire().await?;
        let pixel = find_any_pixel(&mut connection, pixel_id).await?;
        (
            pixel.ok_or(Error::PixelNotFound)?,
            store::sites::find_site(&mut connection, pixel_id).await?,
        )
    };
    let given = match run(infra, &pixel, &site.allowed).await {
        Ok(given) => given,
        Err(RunError::Shutdown) => {
            let mut connection = infra.pool.acquire().await?;
            let now = infra.clock.now();
            return update_plan(&mut connection, pixel_id, now, *failures).await;
        }
        Err(RunError::Failed(reason)) => return Err(Error::internal(reason)),
    };
    let checked = given.check(&pixel.domain)?;
    let _guard = infra.shutdown.delay();
    let Taken { mail, .. } = take(infra, &pixel, &given, &checked, true).await?;
    {
        let mut connection = infra.pool.acquire().await?;
        update_plan(&mut connection, pixel_id, infra.clock.now() + DAY, 0).await?;
    }
    match mail {
        Some(mail) => mails::send(infra, &mail).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_become_longer_up_to_a_day() {
        let minutes = [0, 1, 5, 6, i32::MAX].map(|failures| pause_after(failures).num_minutes());
        assert_eq!(minutes, [30, 60, 960, 1440, 1440]);
    }
}
