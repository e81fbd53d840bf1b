//! Every installed site is watched once a day, at a random time of the day, and one at a time by all nodes.

use chrono::{DateTime, Duration, Utc};
use rand::RngExt;

use super::intake::{Taken, take};
use super::running::run;
use super::{mails, store};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::find_any_pixel;
use crate::types::ids::PixelId;
use crate::watch::RunError;

const DAY: Duration = Duration::days(1);
/// How long a turn is one node's alone, in case that it dies: longer than any run.
const TURN: Duration = Duration::minutes(8);
/// After a run that was not made.
const AGAIN: Duration = Duration::minutes(30);
/// Pixels that get their time in one round.
const MOST_PLANNED: i64 = 10_000;

/// Gives installed pixels that have none a time for their first watch, somewhere within the next day.
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

/// Watches all sites that are due, one after the other, while no other node watches.
pub async fn watch_due(infra: &Infra) -> Result<()> {
    if infra.config.watch_browser.is_none() {
        return Ok(());
    }
    while !infra.shutdown.has_begun()
        && let Some(lease) = take_lease(infra).await?
    {
        let watched = watch_next(infra).await;
        let mut connection = infra.pool.acquire().await?;
        store::leases::end_lease(&mut connection, lease, infra.clock.now()).await?;
        if !watched? {
            break;
        }
    }
    Ok(())
}

async fn take_lease(infra: &Infra) -> Result<Option<DateTime<Utc>>> {
    let mut connection = infra.pool.acquire().await?;
    let now = infra.clock.now();
    let until = now + TURN;
    Ok(store::leases::take_lease(&mut connection, now, until).await?.then_some(until))
}

/// Watches the most overdue site; `false` if none is due.
async fn watch_next(infra: &Infra) -> Result<bool> {
    let pixel_id = {
        let mut connection = infra.pool.acquire().await?;
        let now = infra.clock.now();
        store::sites::take_site(&mut connection, now, now + DAY).await?
    };
    let Some(pixel_id) = pixel_id else { return Ok(false) };
    match watch(infra, &pixel_id).await {
        Ok(()) => {}
        // The pixel is gone or has moved meanwhile.
        Err(Error::PixelNotFound) => {}
        Err(Error::DatabaseUnavailable) => return Err(Error::DatabaseUnavailable),
        Err(error) => {
            tracing::error!(?error, %pixel_id, "a site could not be watched");
            let mut connection = infra.pool.acquire().await?;
            let next = infra.clock.now() + AGAIN;
            store::sites::update_next(&mut connection, &pixel_id, next).await?;
        }
    }
    Ok(true)
}

async fn watch(infra: &Infra, pixel_id: &PixelId) -> Result<()> {
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
            return store::sites::update_next(&mut connection, pixel_id, now).await;
        }
        Err(RunError::Failed(reason)) => return Err(Error::internal(reason)),
    };
    let checked = given.check(&pixel.domain)?;
    let _held = infra.shutdown.hold();
    let Taken { mail, .. } = take(infra, &pixel, &given, &checked, true).await?;
    match mail {
        Some(mail) => mails::send(infra, &mail).await,
        None => Ok(()),
    }
}
