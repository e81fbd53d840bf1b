//! Deletes unused pixels, so that nobody occupies a host without using it. A confirmed pixel stays.
//! An unconfirmed one (its tag is missing, or loaded by a tag manager) stays while it is used: a
//! served tag, a receipt or an impression keeps it for thirty days, and contacts keep it for as
//! long as they are stored. Anybody can forge the first three, so they never keep it permanently.
//! The owner is notified a week before. Pixels of operators and their pipelines stay, and all
//! pixels where the service cannot fetch pages (`INSTALL_CHECK=off`).

use chrono::{DateTime, Duration, Utc};
use sqlx::{PgConnection, PgPool};

use super::store::usage::{SeeminglyUnused, UnusedPixel};
use super::{notices, store};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::changes::{Changes, Invalidation};
use crate::infra::outbox::{Attempt, MailRun, Retry};
use crate::infra::shutdown::Shutdown;
use crate::types::ids::PixelId;

const LIFE: Duration = Duration::days(30);
const NOTICE: Duration = Duration::days(7);
const MOST_MAILS: i64 = 100;
const AT_ONCE: i64 = 1_000;
const MOST_ENDED: i64 = 5_000;

pub async fn end_unused(infra: &Infra) -> Result<()> {
    if !infra.config.install_check.enabled {
        return Ok(());
    }
    let now = infra.clock.now();
    let notice_before = now - (LIFE - NOTICE);
    let unnotified = {
        let mut connection = infra.pool.acquire().await?;
        store::usage::update_uncounted(&mut connection, now).await?;
        mark_used(&infra.shutdown, &mut connection, notice_before, now).await?;
        store::usage::list_unnotified(&mut connection, notice_before, MOST_MAILS).await?
    };
    notify(infra, &unnotified).await?;
    end(infra, now).await
}

async fn mark_used(
    shutdown: &Shutdown,
    connection: &mut PgConnection,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    let mut last = String::new();
    loop {
        let page = store::usage::list_seemingly_unused(connection, until, &last, AT_ONCE).await?;
        for SeeminglyUnused { pixel_id, unused_since } in &page {
            if shutdown.has_begun() {
                return Ok(());
            }
            if let Some(at) = last_use(connection, pixel_id, *unused_since, now).await? {
                store::usage::update_used(connection, pixel_id, at).await?;
            }
        }
        match page.last() {
            Some(pixel) => last = pixel.pixel_id.to_string(),
            None => return Ok(()),
        }
    }
}

/// The last use of a pixel after a time; `None` if there was none. Stored contacts count as use at `now`.
async fn last_use(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    if store::usage::has_contacts(connection, pixel_id).await? {
        return Ok(Some(now));
    }
    let visited_at = store::usage::find_last_visit(connection, pixel_id, after).await?;
    // For an impression only the day is known.
    Ok(visited_at.filter(|at| *at > after))
}

async fn notify(infra: &Infra, unnotified: &[UnusedPixel]) -> Result<()> {
    let mut run = MailRun::default();
    for pixel in unnotified {
        if infra.shutdown.has_begun() || !run.may_continue() {
            break;
        }
        run.count_notification(notify_owner(infra, pixel).await, &pixel.pixel_id)?;
    }
    Ok(())
}

/// Sends the owner a single mail. The pixel is deleted a week after the first attempt at the earliest,
/// even if the mail is never accepted. Without a mail server, no owner is notified. Returns `None`
/// if no mail was necessary. The outbox or a later run repeats an attempt that failed.
async fn notify_owner(infra: &Infra, pixel: &UnusedPixel) -> Result<Option<Attempt>> {
    let now = infra.clock.now();
    let pixel_id = &pixel.pixel_id;
    let _guard = infra.shutdown.delay();
    let ends_at = pixel.ends_at.unwrap_or((pixel.unused_since + LIFE).max(now + NOTICE));
    let mut transaction = infra.pool.begin().await?;
    // Nothing is sent for a pixel that is used again, or that another node handles.
    if !store::usage::update_ending_notified(&mut transaction, pixel, ends_at, now).await? {
        return Ok(None);
    }
    let mail = notices::put_ending(&mut transaction, &infra.outbox, pixel_id).await?;
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(None) };
    let rendered = notices::render_ending(infra, &mail).await;
    let attempt = infra.outbox.attempt(&mail, rendered, Retry::UnlessRefused).await;
    if attempt == Attempt::Failed {
        let mut transaction = infra.pool.begin().await?;
        if infra.outbox.cancel(&mut transaction, &mail).await? {
            notices::take_back(&mut transaction, pixel_id).await?;
            transaction.commit().await?;
        }
    }
    Ok(Some(attempt))
}

async fn end(infra: &Infra, now: DateTime<Utc>) -> Result<()> {
    let ended = {
        let mut connection = infra.pool.acquire().await?;
        store::usage::list_ended(&mut connection, now, MOST_ENDED).await?
    };
    for pixel_id in &ended {
        if infra.shutdown.has_begun() {
            break;
        }
        end_one(&infra.pool, &infra.changes, pixel_id, now).await?;
    }
    Ok(())
}

async fn end_one(
    pool: &PgPool,
    changes: &Changes,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<()> {
    let mut transaction = pool.begin().await?;
    // Evaluated again under the lock, when nothing can be stored for it.
    let unused_since = store::usage::lock_ended(&mut transaction, pixel_id, now).await?;
    let Some(unused_since) = unused_since else { return Ok(()) };
    if let Some(at) = last_use(&mut transaction, pixel_id, unused_since, now).await? {
        store::usage::update_used(&mut transaction, pixel_id, at).await?;
        transaction.commit().await?;
        return Ok(());
    }
    store::delete_pixel(&mut transaction, pixel_id).await?;
    changes.commit(transaction, &Invalidation::of_pixel(pixel_id)).await?;
    tracing::info!(%pixel_id, "a pixel that nobody used has ended");
    Ok(())
}
