//! Recent choices on several sites, by UTC day, read with a fixed number of statements. Impressions are counted once
//! their day is over.

use std::collections::HashMap;

use chrono::{NaiveDate, NaiveTime};
use sqlx::PgPool;

use crate::error::Result;
use crate::receipts::days::DayRange;
use crate::receipts::store::recent::{count_newer, list_counted, list_days_of};
use crate::types::consent::ConsentState;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    pub accepted: i64,
    pub declined: i64,
    /// The latest day with a choice.
    pub answered_on: Option<NaiveDate>,
    /// The latest complete day on which the popup was shown.
    pub shown_on: Option<NaiveDate>,
}

impl Recent {
    fn answer(&mut self, day: NaiveDate, accepted: i64, declined: i64, withdrawn: i64) {
        self.accepted += accepted;
        self.declined += declined;
        if accepted + declined + withdrawn > 0 {
            self.answered_on = self.answered_on.max(Some(day));
        }
    }
}

/// The counts of the range by pixel; pixels without any are left out. The caller has checked the access.
pub async fn read(
    read_pool: &PgPool,
    pixel_ids: &[String],
    range: DayRange,
) -> Result<HashMap<String, Recent>> {
    // All reads share one snapshot.
    let moment = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let mut transaction = read_pool.begin_with(moment).await?;
    let counted = list_counted(&mut transaction, pixel_ids).await?.into_iter();
    let counted = counted.map(|one| (one.pixel_id, one.up_to_seq)).collect::<HashMap<_, _>>();
    let days = list_days_of(&mut transaction, pixel_ids, range).await?;
    let up_to = pixel_ids.iter().map(|id| counted.get(id).copied().unwrap_or(0));
    let up_to = up_to.collect::<Vec<_>>();
    let since = range.from.and_time(NaiveTime::MIN).and_utc();
    let newer = count_newer(&mut transaction, pixel_ids, &up_to, since).await?;
    transaction.commit().await?;
    let mut recent = HashMap::<String, Recent>::new();
    for day in days.into_iter().filter(|day| counted.contains_key(&day.pixel_id)) {
        let [accepted, declined, withdrawn] = day.choices.by_state().0;
        let of_pixel = recent.entry(day.pixel_id).or_default();
        of_pixel.answer(day.day, accepted, declined, withdrawn);
        if day.shown > 0 {
            of_pixel.shown_on = of_pixel.shown_on.max(Some(day.day));
        }
    }
    for one in newer.into_iter().filter(|one| range.contains(one.day)) {
        let of_pixel = recent.entry(one.pixel_id).or_default();
        match one.state {
            ConsentState::Accepted => of_pixel.answer(one.day, one.count, 0, 0),
            ConsentState::Declined => of_pixel.answer(one.day, 0, one.count, 0),
            ConsentState::Withdrawn => of_pixel.answer(one.day, 0, 0, one.count),
        }
    }
    Ok(recent)
}
