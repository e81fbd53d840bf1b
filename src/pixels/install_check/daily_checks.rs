//! Every installed pixel is looked for once a day, so that its owner hears of it when it vanishes; one that has
//! moved to another host at once, and then daily until it is found.
//! Checks are spread over the day by when pixels were first found. They share the permits of people's own
//! checks, but take few at a time; without a free permit they are postponed.

use chrono::Duration;
use futures_util::future::join_all;
use rand::RngExt;
use sqlx::PgPool;

use super::install_state::{AfterCheck, DAY, InstallChange, after_daily_check, put_event};
use super::page_check::{PageCheck, check_page};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::ClaimedMail;
use crate::pixels::pixel::Pixel;
use crate::pixels::store::install_checks::ClaimedCheck;
use crate::pixels::{notices, store, usage};

/// Concurrent daily checks of a node, of the permits that it has for all checks.
const WORKERS: usize = 4;
/// The time for which a node claims a check. It is repeated then if it got no permit, or if the node died.
const CLAIM: Duration = Duration::minutes(5);
/// Pixels that get their time in one round.
const MOST_PLANNED: i64 = 10_000;

/// Gives installed pixels that have none a time for their first check, somewhere within the next day.
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
            // People's own checks have taken all permits.
            Err(Error::Busy { .. }) => return Ok(()),
            // It is away for all others too.
            Err(Error::DatabaseUnavailable) => return Err(Error::DatabaseUnavailable),
            Err(error) => {
                let pixel_id = &claim.pixel_id;
                tracing::error!(?error, %pixel_id, "an installation could not be checked");
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

async fn claim(pool: &PgPool, clock: &Clock) -> Result<Option<ClaimedCheck>> {
    let mut connection = pool.acquire().await?;
    // Not before there is a connection, which may take seconds.
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
    let _held = infra.shutdown.hold();
    if let Some(mail) = settle(infra, claim, &pixel, &check).await? {
        let rendered = notices::vanished(infra, &mail).await;
        infra.outbox.deliver(&mail, rendered).await?;
    }
    Ok(())
}

/// Keeps what was found, unless the pixel is gone, moved or checked meanwhile. The mail to its owner
/// when it has vanished.
async fn settle(
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
    usage::note_check(&mut transaction, pixel_id, check, now).await?;
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
