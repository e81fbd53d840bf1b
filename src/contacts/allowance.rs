//! What an account's plan includes per UTC calendar month, and when its resolution pauses.

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::store;
use crate::accounts::{Account, Plan};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::pixels::host_claim::PIXELS_INCLUDED;
use crate::pixels::store::count_pixels;
use crate::text_enum::text_enum;

/// New contacts per UTC calendar month that the plans `free` and `paid` include.
pub const CONTACTS_INCLUDED: i64 = 500;

text_enum! {
    /// Whether new people are identified.
    pub enum Resolution {
        Active = "active",
        Paused = "paused",
    }
}

text_enum! {
    /// Why resolution is paused; the first that applies, in this order.
    pub enum PausedBecause {
        TrialEnded = "trial_ended",
        SubscriptionEnded = "subscription_ended",
        ContactAllowanceReached = "contact_allowance_reached",
    }
}

/// What an account may use and has used. Included numbers are null where there is no limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct Allowance {
    /// New contacts per UTC calendar month.
    #[schema(required = true)]
    pub contacts_included: Option<i64>,
    /// New contacts of the present month.
    pub contacts_used: i64,
    #[schema(required = true)]
    pub pixels_included: Option<i64>,
    pub pixels_used: i64,
    /// When the next month begins.
    pub resets_at: Timestamp,
    pub resolution: Resolution,
    /// Null while resolution is active.
    #[schema(required = true)]
    pub paused_because: Option<PausedBecause>,
}

/// The account's allowance as it stands.
pub async fn current(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account: &Account,
) -> Result<Allowance> {
    let contacts_used = store::find_usage(connection, &account.account_id, month_of(now)).await?;
    let pixels_used = count_pixels(connection, &account.account_id).await?;
    let paused_because = Coverage::of(account).paused_because(now, contacts_used);
    Ok(Allowance {
        contacts_included: contacts_included(account.plan),
        contacts_used,
        pixels_included: (account.plan != Plan::Unlimited).then_some(PIXELS_INCLUDED),
        pixels_used,
        resets_at: Timestamp(next_month(now)),
        resolution: paused_because.map_or(Resolution::Active, |_| Resolution::Paused),
        paused_because,
    })
}

/// The plan of an account, and how long it lasts.
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

    /// Why resolution is paused with so many new contacts this month; `None` while it is not.
    pub fn paused_because(self, now: DateTime<Utc>, used: i64) -> Option<PausedBecause> {
        self.ended(now).or_else(|| {
            let is_used_up = contacts_included(self.plan).is_some_and(|included| used >= included);
            is_used_up.then_some(PausedBecause::ContactAllowanceReached)
        })
    }

    fn ended(self, now: DateTime<Utc>) -> Option<PausedBecause> {
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

fn contacts_included(plan: Plan) -> Option<i64> {
    (plan != Plan::Unlimited).then_some(CONTACTS_INCLUDED)
}

/// What a store did to the month's allowance.
pub struct Spent {
    /// Whether it was used up by this, so that resolution pauses.
    pub now_paused: bool,
}

/// Counts new contacts, or refuses all of them. The owner's row must be locked.
pub async fn spend(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    owner: &Account,
    new: i64,
) -> Result<Spent> {
    if new == 0 {
        return Ok(Spent { now_paused: false });
    }
    if Coverage::of(owner).ended(now).is_some() {
        return Err(Error::SubscriptionRequired { remaining: 0 });
    }
    let month = month_of(now);
    let used = store::find_usage(connection, &owner.account_id, month).await?;
    let included = contacts_included(owner.plan);
    let remaining = included.map(|included| (included - used).max(0));
    if let Some(remaining) = remaining.filter(|&remaining| new > remaining) {
        return Err(Error::ContactAllowanceReached { remaining });
    }
    store::add_usage(connection, &owner.account_id, month, new).await?;
    Ok(Spent { now_paused: remaining == Some(new) })
}

/// The first day of the month.
pub fn month_of(now: DateTime<Utc>) -> NaiveDate {
    let today = now.date_naive();
    today.with_day(1).unwrap_or(today)
}

fn next_month(now: DateTime<Utc>) -> DateTime<Utc> {
    (month_of(now) + Months::new(1)).and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeDelta, TimeZone};

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn a_month_ends_with_its_last_millisecond() {
        let last = at("2026-12-31T23:59:59.999Z");
        let first = last + TimeDelta::milliseconds(1);
        assert_eq!(month_of(last), at("2026-12-01T00:00:00Z").date_naive());
        assert_eq!(next_month(last), first);
        assert_eq!(month_of(first), first.date_naive());
        assert_eq!(next_month(first), at("2027-02-01T00:00:00Z"));
    }

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
