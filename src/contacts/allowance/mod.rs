pub mod allowance_mails;
pub mod coverage;
pub mod end_mails;
pub mod pause;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use self::coverage::{Coverage, PausedBecause, contacts_included, month_of, next_month};
use super::store::usage as store;
use crate::accounts::account::{Account, PIXELS_INCLUDED, Plan};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::pixels::count_pixels;
use crate::types::text_enum::text_enum;

text_enum! {
    /// Whether new people are identified.
    pub enum Resolution {
        Active = "active",
        Paused = "paused",
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

pub struct Spent {
    /// Whether this used it up, so that resolution is paused.
    pub now_paused: bool,
    pub now_reached: Option<i16>,
}

/// Counts new contacts, or refuses all of them. The owner's row must be locked.
pub async fn spend(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    owner: &Account,
    new: i64,
) -> Result<Spent> {
    if new == 0 {
        return Ok(Spent { now_paused: false, now_reached: None });
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
    let reached = |used| included.map_or(0, |included| reached_percent(used, included));
    let (before, now) = (reached(used), reached(used + new));
    store::add_usage(connection, &owner.account_id, month, new, now).await?;
    let now_reached = (now > before).then_some(now);
    Ok(Spent { now_paused: remaining == Some(new), now_reached })
}

fn reached_percent(used: i64, included: i64) -> i16 {
    match used * 100 / included.max(1) {
        100.. => 100,
        80.. => 80,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

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
}
