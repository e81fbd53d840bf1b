//! Counts the events of each day of a pixel, in UTC and in the time zone of a site that has one, so that a whole
//! year can be read quickly. Receipts are counted in their order, up to a position below which no more can be
//! inserted; impressions are counted once their day is over. Until then, and for days marked as changed, readers
//! count rows. So recording never waits for this job, and if it is late or interrupted, answers stay correct and
//! only take longer.

use std::collections::BTreeMap;
use std::time::{Duration as RealTime, Instant};

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgPool;

use super::day_tallies::{count_rows, count_rows_between};
use super::tally::DayTally;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::isolation::isolate;
use crate::infra::shutdown::Shutdown;
use crate::pixels::pixel::DayZone;
use crate::receipts::days::DayRange;
use crate::receipts::store::{counting, days, shown};
use crate::types::ids::PixelId;

/// Minimum number of uncounted rows for a pixel to be counted: readers count fewer rows quickly.
const WORTH_COUNTING: i64 = 500;
/// Rows per transaction.
const BATCH: i64 = 10_000;
const PIXELS: i64 = 1_000;
/// If a writer takes longer, its receipts are left to the next run.
const WRITERS_END_WITHIN: RealTime = RealTime::from_secs(30);
const WRITERS_POLL: RealTime = RealTime::from_millis(20);

/// Updates the daily counts of all pixels, unless another node is doing so. The lock is released with its
/// transaction, even if this node dies.
pub async fn count_all(infra: &Infra) -> Result<()> {
    let mut lock = infra.pool.begin().await?;
    if !counting::take_lock(&mut lock).await? {
        return Ok(());
    }
    let behind = list_behind(&infra.pool, &infra.shutdown, infra.clock.now()).await?;
    if behind.is_empty() {
        return Ok(());
    }
    let Some(up_to_seq) = find_settled_seq(&infra.pool, &infra.shutdown).await? else {
        return Ok(());
    };
    for (pixel_id, zone) in behind {
        if infra.shutdown.has_begun() {
            break;
        }
        let counted = count_pixel(&infra.pool, &infra.shutdown, &pixel_id, zone, up_to_seq).await;
        isolate(counted, "the daily counts of a pixel could not be updated", &pixel_id)?;
    }
    Ok(())
}

/// The pixels to be counted, each with a time zone. From then on, changes of their rows are recorded.
async fn list_behind(
    pool: &PgPool,
    shutdown: &Shutdown,
    now: DateTime<Utc>,
) -> Result<Vec<(PixelId, DayZone)>> {
    let mut connection = pool.acquire().await?;
    let (mut behind, mut last) = (Vec::new(), String::new());
    loop {
        let page = counting::list_pixels(&mut connection, &last, PIXELS).await?;
        let Some((last_of_page, _)) = page.last() else { return Ok(behind) };
        last = last_of_page.as_str().to_owned();
        for (pixel_id, own_zone) in page {
            for zone in zones_of(own_zone) {
                if shutdown.has_begun() {
                    return Ok(Vec::new());
                }
                // A day must be over in UTC too, because it may use the impressions of the UTC day.
                let today = zone.day_of(now).min(now.date_naive());
                let rows = WORTH_COUNTING;
                if counting::needs_counting(&mut connection, &pixel_id, zone, today, rows).await? {
                    counting::upsert_counted(&mut connection, &pixel_id, zone, today).await?;
                    behind.push((pixel_id.clone(), zone));
                }
            }
        }
    }
}

/// UTC, and the site's own time zone if it has one.
fn zones_of(own: DayZone) -> impl Iterator<Item = DayZone> {
    [Some(DayZone::UTC), (!own.is_utc()).then_some(own)].into_iter().flatten()
}

/// A position in the order of receipts up to which all receipts are committed or never will be; `None` if a
/// transaction stays open. Writers that began before changes had to be recorded have ended as well.
async fn find_settled_seq(pool: &PgPool, shutdown: &Shutdown) -> Result<Option<i64>> {
    let mut connection = pool.acquire().await?;
    let last = counting::find_last_seq(&mut connection).await?;
    let mut writers = counting::list_writers(&mut connection).await?;
    let begun = Instant::now();
    while !writers.is_empty() {
        if begun.elapsed() > WRITERS_END_WITHIN || shutdown.has_begun() {
            tracing::info!(writers = writers.len(), "days are not counted while somebody writes");
            return Ok(None);
        }
        tokio::time::sleep(WRITERS_POLL).await;
        let now = counting::list_writers(&mut connection).await?;
        writers.retain(|writer| now.contains(writer));
    }
    Ok(Some(last))
}

async fn count_pixel(
    pool: &PgPool,
    shutdown: &Shutdown,
    pixel_id: &PixelId,
    zone: DayZone,
    up_to_seq: i64,
) -> Result<()> {
    while !shutdown.has_begun() && count_receipts(pool, pixel_id, zone, up_to_seq).await? {}
    while !shutdown.has_begun() && count_shown(pool, pixel_id, zone).await? {}
    count_changed(pool, shutdown, pixel_id, zone).await
}

/// Adds the next receipts to their days; returns whether there may be more.
async fn count_receipts(
    pool: &PgPool,
    pixel_id: &PixelId,
    zone: DayZone,
    settled: i64,
) -> Result<bool> {
    let mut transaction = pool.begin().await?;
    let Some(counted) = counting::lock_counted(&mut transaction, pixel_id, zone).await? else {
        return Ok(false);
    };
    let after = counted.up_to_seq;
    if after >= settled && counted.is_ready {
        return Ok(false);
    }
    let end = counting::find_seq_after(&mut transaction, pixel_id, after, settled, BATCH).await?;
    let up_to = end.unwrap_or_else(|| settled.max(after));
    let newer = count_rows_between(&mut transaction, pixel_id, zone, after, up_to).await?;
    for (day, newer) in newer {
        let only = DayRange { from: day, to: day };
        let mut known = days::list_days(&mut transaction, pixel_id, zone, only).await?;
        let mut tally = known.remove(&day).unwrap_or_default();
        tally.merge(newer);
        days::upsert_day(&mut transaction, pixel_id, zone, day, &tally).await?;
    }
    counting::update_up_to(&mut transaction, pixel_id, zone, up_to, up_to >= settled).await?;
    transaction.commit().await?;
    Ok(up_to < settled)
}

/// Counts the impressions of the next finished days; returns whether there may be more.
async fn count_shown(pool: &PgPool, pixel_id: &PixelId, zone: DayZone) -> Result<bool> {
    let mut transaction = pool.begin().await?;
    let Some(counted) = counting::lock_counted(&mut transaction, pixel_id, zone).await? else {
        return Ok(false);
    };
    let (from, noted) = (counted.shown_before, counted.shown_noted_before);
    if from >= noted {
        return Ok(false);
    }
    // A batch has whole days, at least one. Its size is measured by the impressions of UTC days.
    let end =
        counting::find_day_shown_after(&mut transaction, pixel_id, from, noted, BATCH).await?;
    let first = counting::find_day_shown_after(&mut transaction, pixel_id, from, noted, 0).await?;
    let until = match end {
        Some(end) if Some(end) == first => end.succ_opt().unwrap_or(noted),
        Some(end) => end,
        None => noted,
    };
    shown::insert_shown_between(&mut transaction, pixel_id, zone, from, until).await?;
    counting::update_shown_before(&mut transaction, pixel_id, zone, until).await?;
    transaction.commit().await?;
    Ok(until < noted)
}

/// Recounts the days marked as changed. Marks added meanwhile are left to the next run, because the recount
/// may not include their changes.
async fn count_changed(
    pool: &PgPool,
    shutdown: &Shutdown,
    pixel_id: &PixelId,
    zone: DayZone,
) -> Result<()> {
    let mut connection = pool.acquire().await?;
    let changes = counting::list_changes(&mut connection, pixel_id, zone).await?;
    drop(connection);
    let mut by_day = BTreeMap::<_, Vec<_>>::new();
    for change in changes {
        by_day.entry(change.day).or_default().push(change.position);
    }
    for (day, positions) in by_day {
        if shutdown.has_begun() {
            break;
        }
        count_again(pool, pixel_id, zone, day, &positions).await?;
    }
    Ok(())
}

async fn count_again(
    pool: &PgPool,
    pixel_id: &PixelId,
    zone: DayZone,
    day: NaiveDate,
    positions: &[i64],
) -> Result<()> {
    let mut transaction = pool.begin().await?;
    let Some(counted) = counting::lock_counted(&mut transaction, pixel_id, zone).await? else {
        return Ok(());
    };
    let rows = count_rows(&mut transaction, pixel_id, zone, &[day], counted.up_to_seq).await?;
    let mut tally = rows.into_values().next().unwrap_or_default();
    if day < counted.shown_before {
        let shown = shown::count_shown(&mut transaction, pixel_id, zone, &[day]).await?;
        tally.merge(DayTally {
            shown: shown.iter().map(|shown| shown.count).sum(),
            ..DayTally::default()
        });
    }
    days::upsert_day(&mut transaction, pixel_id, zone, day, &tally).await?;
    counting::delete_changes(&mut transaction, pixel_id, positions).await?;
    transaction.commit().await?;
    Ok(())
}
