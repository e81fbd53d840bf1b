//! The events of each day of a pixel: the stored counts, and the rows not counted yet.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use sqlx::PgConnection;

use super::tally::{DayTally, VisitorCount};
use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::receipts::days::DayRange;
use crate::receipts::store::counts;
use crate::receipts::store::days::{self, Counted};
use crate::receipts::store::shown::count_shown;
use crate::types::ids::PixelId;

/// Counts by day; days without events may be missing.
pub type DayTallies = BTreeMap<NaiveDate, DayTally>;

/// Above the position of every receipt.
const EVERY: i64 = i64::MAX;

/// All events on the days of the range. `connection` must be in a transaction of the isolation level
/// REPEATABLE READ, so that it sees a single snapshot.
pub async fn read(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    range: DayRange,
) -> Result<DayTallies> {
    let counted = days::find_counted(connection, pixel_id, zone).await?;
    match counted.filter(|counted| counted.is_ready) {
        Some(counted) => read_counted(connection, pixel_id, zone, range, &counted).await,
        None => {
            let all = range.days().collect::<Vec<_>>();
            let mut tallies = count_rows(connection, pixel_id, zone, &all, EVERY).await?;
            add_shown(connection, pixel_id, zone, &all, &mut tallies).await?;
            Ok(tallies)
        }
    }
}

async fn read_counted(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    range: DayRange,
    counted: &Counted,
) -> Result<DayTallies> {
    let changed = days::list_changed_days(connection, pixel_id, zone, range).await?;
    let mut tallies = days::list_days(connection, pixel_id, zone, range).await?;
    for (_, tally) in tallies.range_mut(counted.shown_before..) {
        tally.shown = 0;
    }
    let newer = count_rows_between(connection, pixel_id, zone, counted.up_to_seq, EVERY).await?;
    for (day, newer) in newer.into_iter().filter(|(day, _)| range.contains(*day)) {
        tallies.entry(day).or_default().merge(newer);
    }
    // The stored counts of changed days are out of date, so all rows of these days are counted.
    tallies.retain(|day, _| !changed.contains(day));
    if !changed.is_empty() {
        tallies.extend(count_rows(connection, pixel_id, zone, &changed, EVERY).await?);
    }
    let uncounted = |day: &NaiveDate| *day >= counted.shown_before || changed.contains(day);
    let uncounted = range.days().filter(uncounted).collect::<Vec<_>>();
    add_shown(connection, pixel_id, zone, &uncounted, &mut tallies).await?;
    Ok(tallies)
}

async fn add_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    days: &[NaiveDate],
    tallies: &mut DayTallies,
) -> Result<()> {
    for VisitorCount { day, count } in count_shown(connection, pixel_id, zone, days).await? {
        tallies.entry(day).or_default().shown = count;
    }
    Ok(())
}

/// Counts the rows of some days, except impressions.
pub async fn count_rows(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    days: &[NaiveDate],
    up_to_seq: i64,
) -> Result<DayTallies> {
    let mut tallies = DayTallies::new();
    counts::count_choices(connection, pixel_id, zone, days, up_to_seq, |choices| {
        tallies.entry(choices.day).or_default().choices.add(choices);
    })
    .await?;
    let choosers = counts::count_choosers(connection, pixel_id, zone, days, up_to_seq).await?;
    add_choosers(&mut tallies, choosers);
    Ok(tallies)
}

/// Counts the receipts between two positions. Choosers are visitors without an earlier choice on the same
/// day.
pub async fn count_rows_between(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    zone: DayZone,
    after_seq: i64,
    up_to_seq: i64,
) -> Result<DayTallies> {
    let mut tallies = DayTallies::new();
    counts::count_choices_between(connection, pixel_id, zone, after_seq, up_to_seq, |choices| {
        tallies.entry(choices.day).or_default().choices.add(choices);
    })
    .await?;
    if !tallies.is_empty() {
        let choosers =
            counts::count_choosers_between(connection, pixel_id, zone, after_seq, up_to_seq)
                .await?;
        add_choosers(&mut tallies, choosers);
    }
    Ok(tallies)
}

fn add_choosers(tallies: &mut DayTallies, choosers: Vec<VisitorCount>) {
    for VisitorCount { day, count } in choosers {
        tallies.entry(day).or_default().choosers = count;
    }
}
