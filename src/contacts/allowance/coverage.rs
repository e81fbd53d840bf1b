use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime, Utc};

use crate::accounts::account::{Account, CONTACTS_INCLUDED, Plan};
use crate::types::text_enum::text_enum;

text_enum! {
    /// Why resolution is paused; the first that applies, in this order.
    pub enum PausedBecause {
        TrialEnded = "trial_ended",
        SubscriptionEnded = "subscription_ended",
        ContactAllowanceReached = "contact_allowance_reached",
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Coverage {
    pub plan: Plan,
    pub trial_ends_at: DateTime<Utc>,
    pub paid_until: Option<DateTime<Utc>>,
}

impl Coverage {
    pub fn of(account: &Account) -> Self {
        Self {
            plan: account.plan,
            trial_ends_at: account.trial_ends_at,
            paid_until: account.paid_until,
        }
    }

    /// Why resolution is paused with `used` new contacts this month; `None` while it is not.
    pub fn paused_because(self, now: DateTime<Utc>, used: i64) -> Option<PausedBecause> {
        self.ended(now).or_else(|| {
            let is_used_up = contacts_included(self.plan).is_some_and(|included| used >= included);
            is_used_up.then_some(PausedBecause::ContactAllowanceReached)
        })
    }

    /// The end of the trial or of the paid period; `None` for a plan without one.
    pub fn ends_at(self) -> Option<DateTime<Utc>> {
        match self.plan {
            Plan::Free => Some(self.trial_ends_at),
            Plan::Paid => self.paid_until,
            Plan::Unlimited => None,
        }
    }

    pub fn ended(self, now: DateTime<Utc>) -> Option<PausedBecause> {
        match self.plan {
            Plan::Free => (now >= self.trial_ends_at).then_some(PausedBecause::TrialEnded),
            Plan::Paid => {
                let is_paid = self.paid_until.is_some_and(|paid_until| now < paid_until);
                (!is_paid).then_some(PausedBecause::SubscriptionEnded)
            }
            Plan::Unlimited => None,
        }
    }
}

/// New contacts per month; `None` where there is no limit.
pub fn contacts_included(plan: Plan) -> Option<i64> {
    (plan != Plan::Unlimited).then_some(CONTACTS_INCLUDED)
}

#[derive(Clone, Copy)]
pub struct UsageSnapshot {
    pub coverage: Coverage,
    pub used: i64,
    pub month: NaiveDate,
}

impl UsageSnapshot {
    pub fn paused_because(self, now: DateTime<Utc>) -> Option<PausedBecause> {
        // The contacts of an earlier month do not count.
        let used = if self.month == month_of(now) { self.used } else { 0 };
        self.coverage.paused_because(now, used)
    }
}

pub fn next_month(now: DateTime<Utc>) -> DateTime<Utc> {
    (month_of(now) + Months::new(1)).and_time(NaiveTime::MIN).and_utc()
}

pub fn month_of(now: DateTime<Utc>) -> NaiveDate {
    let today = now.date_naive();
    today.with_day(1).unwrap_or(today)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeDelta, TimeZone};

    #[test]
    fn the_end_of_trial_or_subscription_comes_before_a_used_up_allowance() {
        let end = Utc.with_ymd_and_hms(2026, 4, 1, 0, 0, 0).unwrap();
        let before = end - TimeDelta::milliseconds(1);
        let coverage = |plan, paid_until| Coverage { plan, trial_ends_at: end, paid_until };
        use PausedBecause::*;
        for (coverage, now, used, expected) in [
            (coverage(Plan::Free, None), before, 499, None),
            (coverage(Plan::Free, None), before, 500, Some(ContactAllowanceReached)),
            (coverage(Plan::Free, None), end, 0, Some(TrialEnded)),
            (coverage(Plan::Free, None), end, 500, Some(TrialEnded)),
            (coverage(Plan::Paid, Some(end)), before, 0, None),
            (coverage(Plan::Paid, Some(end)), before, 500, Some(ContactAllowanceReached)),
            (coverage(Plan::Paid, Some(end)), end, 500, Some(SubscriptionEnded)),
            (coverage(Plan::Paid, None), before, 0, Some(SubscriptionEnded)),
            (coverage(Plan::Unlimited, None), end, 1_000_000, None),
        ] {
            assert_eq!(coverage.paused_because(now, used), expected, "{coverage:?} {now} {used}");
        }
    }
}
