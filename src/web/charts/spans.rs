use chrono::{Datelike, NaiveDate};

use crate::infra::templates::{Message, tr};
use crate::receipts::daily_counts::stats::{Counts, DayCounts};

const MOST_DAYS: usize = 100;
const WEEK: usize = 7;

#[derive(Debug)]
pub struct Span {
    pub from: NaiveDate,
    pub to: NaiveDate,
    pub counts: Counts,
}

impl Span {
    pub fn contains(&self, day: NaiveDate) -> bool {
        (self.from..=self.to).contains(&day)
    }

    /// For example "3 May 2026", or "3 to 9 May 2026" for a week.
    pub fn name(&self) -> Message {
        let (from, to) = (self.from, self.to);
        if from == to {
            return Message::Day(to);
        }
        let text = if from.year() != to.year() {
            tr("{{ from }} to {{ to }}").with("from", Message::Day(from))
        } else if from.month() != to.month() {
            tr("{{ from }} to {{ to }}").with("from", Message::DayAndMonth(from))
        } else {
            tr("{{ day }} to {{ to }}").with("day", from.day())
        };
        text.with("to", Message::Day(to))
    }
}

pub fn are_weeks(days: usize) -> bool {
    days > MOST_DAYS
}

/// Days, or weeks for a long range, in chronological order. The last week is complete, the first one may be shorter.
pub fn spans_of(days: &[DayCounts]) -> Vec<Span> {
    let length = if are_weeks(days.len()) { WEEK } else { 1 };
    let spans = days.rchunks(length).filter_map(|days| {
        let (first, last) = (days.first()?, days.last()?);
        let mut counts = Counts::default();
        days.iter().for_each(|day| counts.add(&day.counts));
        Some(Span { from: first.day, to: last.day, counts })
    });
    let mut spans = spans.collect::<Vec<_>>();
    spans.reverse();
    spans
}

#[cfg(test)]
mod tests {
    use chrono::Days;

    use super::*;
    use crate::infra::templates::in_english;

    fn days(count: u64) -> Vec<DayCounts> {
        let first = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
        let day = |number| DayCounts {
            day: first + Days::new(number),
            counts: Counts { shown: 1, accepted: 2, ..Counts::default() },
        };
        (0..count).map(day).collect()
    }

    #[test]
    fn a_season_is_shown_in_days_and_a_year_in_weeks() {
        assert_eq!(spans_of(&days(100)).len(), 100);
        let weeks = spans_of(&days(365));
        assert_eq!(weeks.len(), 53);
        let shown = weeks.iter().map(|week| week.counts.shown).collect::<Vec<_>>();
        assert_eq!((shown[0], shown[1], shown[52]), (1, 7, 7));
        assert_eq!(weeks.iter().map(|week| week.counts.accepted).sum::<i64>(), 730);
        let ends = weeks.windows(2).all(|pair| pair[0].to.succ_opt() == Some(pair[1].from));
        assert!(ends, "no day is missing or twice");
        assert_eq!(weeks[52].to, days(365)[364].day);
    }

    #[test]
    fn a_span_is_named_as_short_as_it_can_be() {
        let name = |from: &str, to: &str| {
            let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
            in_english(&Span { from, to, counts: Counts::default() }.name())
        };
        assert_eq!(name("2026-05-03", "2026-05-03"), "3 May 2026");
        assert_eq!(name("2026-05-03", "2026-05-09"), "3 to 9 May 2026");
        assert_eq!(name("2026-04-28", "2026-05-04"), "28 April to 4 May 2026");
        assert_eq!(name("2025-12-28", "2026-01-03"), "28 December 2025 to 3 January 2026");
    }

    #[test]
    fn no_days_are_no_spans() {
        assert!(spans_of(&[]).is_empty());
    }
}
