//! The time of the weekly digest: Monday at 07:00 UTC, plus a delay that differs by account.

use chrono::{DateTime, Duration, NaiveDate, NaiveTime, Utc, Weekday};

const HOUR: Duration = Duration::hours(7);
/// The upper bound of the delay.
pub const SPREAD_MINUTES: i32 = 180;

/// The Monday of the week whose digest was due last.
pub fn due_week(now: DateTime<Utc>) -> NaiveDate {
    (now - HOUR).date_naive().week(Weekday::Mon).first_day()
}

/// The first time at which the digest of a week is sent.
pub fn due_at(week: NaiveDate) -> DateTime<Utc> {
    week.and_time(NaiveTime::MIN).and_utc() + HOUR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_due_on_monday_at_seven() {
        for (now, week) in [
            ("2026-03-16T07:00:00Z", "2026-03-16"),
            ("2026-03-16T06:59:59Z", "2026-03-09"),
            ("2026-03-22T23:00:00Z", "2026-03-16"),
            ("2026-01-01T12:00:00Z", "2025-12-29"),
        ] {
            let now = now.parse::<DateTime<Utc>>().unwrap();
            let due = due_week(now);
            assert_eq!(due.to_string(), week, "{now}");
            assert!(due_at(due) <= now && now < due_at(due) + Duration::days(7), "{now}");
        }
    }
}
