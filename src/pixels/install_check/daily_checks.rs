//! Daily install checks. Every installed pixel is checked once a day, so that its owner is notified when it
//! vanishes. A pixel that has moved to another host is checked at once, and then daily until it is found. The checks
//! are spread over the day. They share the permits of the checks that people request, but take only a few of them;
//! without a free permit, a check is postponed.

use chrono::Duration;
use futures_util::future::join_all;
use rand::RngExt;
use sqlx::PgPool;

use super::install_state::{AfterCheck, DAY, InstallChange, after_daily_check, put_event};
use super::page_check::{PageCheck, check_page};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::isolation::isolate;
use crate::infra::outbox::ClaimedMail;
use crate::pixels::pixel::Pixel;
use crate::pixels::store::install_checks::ClaimedCheck;
use crate::pixels::{notices, store, usage};

/// Maximum number of permits that the concurrent daily checks of a node take.
const WORKERS: usize = 4;
/// Duration of a node's claim on a check. Afterwards, a check that got no permit or whose node stopped is repeated.
const CLAIM: Duration = Duration::minutes(5);
/// Maximum number of pixels whose first check one round plans.
const MOST_PLANNED: i64 = 10_000;

/// Plans the first check of installed pixels without a planned one, at a random time within the next day.
pub async fn plan_checks(infra: &Infra) -> Result<()> {
    if !infra.config.install_check.enabled {
        return Ok(());
    }
    let mut connection = infra.pool.acquire().await?;
    for pixel_id in store::install_checks::list_unplanned(&mut connection, MOST_PLANNED).await? {
        if infra.shutdown.has_begun() {
            break;
        }
        let after = Duration::seconds(rand::rng().random_range(0..DAY.num_seconds()));
        store::install_checks::upsert_plan(&mut connection, &pixel_id, infra.clock.now() + after)
            .await?;
    }
    Ok(())
}

pub async fn check_due(infra: &Infra) -> Result<()> {
    if !infra.config.install_check.enabled {
        return Ok(());
    }
    let workers = join_all((0..WORKERS).map(|_| check_in_turn(infra))).await;
    workers.into_iter().collect()
}

async fn check_in_turn(infra: &Infra) -> Result<()> {
    while !infra.shutdown.has_begun()
        && let Some(claim) = claim(&infra.pool, &infra.clock).await?
    {
        match check(infra, &claim).await {
            // Checks that people requested hold all permits.
            Err(Error::Busy { .. }) => return Ok(()),
            checked => {
                isolate(checked, "an installation could not be checked", &claim.pixel_id)?;
            }
        }
    }
    Ok(())
}

async fn claim(pool: &PgPool, clock: &Clock) -> Result<Option<ClaimedCheck>> {
    let mut connection = pool.acquire().await?;
    // The time is read after the connection was acquired, which may take seconds.
    let now = clock.now();
    store::install_checks::claim_check(&mut connection, now, now + CLAIM).await
}

async fn check(infra: &Infra, claim: &ClaimedCheck) -> Result<()> {
    let pixel = {
        let mut connection = infra.pool.acquire().await?;
        store::find_any_pixel(&mut connection, &claim.pixel_id).await?
    };
    let Some(pixel) = pixel else { return Ok(()) };
    let check = check_page(infra, &pixel).await?;
    let _guard = infra.shutdown.delay();
    if let Some(mail) = store_result(infra, claim, &pixel, &check).await? {
        let rendered = notices::vanished(infra, &mail).await;
        infra.outbox.deliver(&mail, rendered).await?;
    }
    Ok(())
}

/// Stores the result, unless the pixel was deleted, moved or checked in the meantime. Returns the mail to
/// its owner if the pixel has vanished.
async fn store_result(
    infra: &Infra,
    claim: &ClaimedCheck,
    pixel: &Pixel,
    check: &PageCheck,
) -> Result<Option<ClaimedMail>> {
    let pixel_id = &pixel.pixel_id;
    let subscribers = infra.events.subscribers(&pixel.account_id).await?;
    let mut transaction = infra.pool.begin().await?;
    let current = store::lock_pixel(&mut transaction, pixel_id).await?;
    let known = store::install_checks::lock_install(&mut transaction, pixel_id).await?;
    let (Some(current), Some(known)) = (current, known) else { return Ok(None) };
    if current.domain != pixel.domain || known.next_look_at != Some(claim.until) {
        return Ok(None);
    }
    let now = infra.clock.now();
    let AfterCheck { known, status, change } = after_daily_check(known, &current, check, now)?;
    let has_vanished = change == Some(InstallChange::Vanished);
    usage::record_check(&mut transaction, pixel_id, check, now).await?;
    store::install_checks::upsert_install(&mut transaction, pixel_id, &current.domain, &known)
        .await?;
    let error = check.observation.error();
    store::update_install(&mut transaction, pixel_id, status, now, error.as_deref()).await?;
    let mail = match has_vanished {
        true => notices::put_vanished(&mut transaction, &infra.outbox, pixel_id).await?,
        false => None,
    };
    let is_wanted = put_event(&mut transaction, &subscribers, pixel_id, change, now).await?;
    transaction.commit().await?;
    if is_wanted {
        infra.events.wake();
    }
    let found = check.observation.kind();
    tracing::info!(%pixel_id, found, has_vanished, "installation checked");
    Ok(mail)
}
