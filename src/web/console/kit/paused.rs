//! The banner of every screen while new visitors are not identified.

use serde::Serialize;

use crate::accounts::members::member::Member;
use crate::accounts::scope::Scope;
use crate::app::App;
use crate::contacts::allowance;
use crate::contacts::allowance::coverage::{Coverage, PausedBecause};
use crate::error::Result;
use crate::types::formatting::day;

#[derive(Serialize)]
pub struct Paused {
    why: String,
    /// Whether a subscription ends the pause.
    needs_subscription: bool,
    /// Whether this member can open the checkout.
    can_subscribe: bool,
}

impl Paused {
    pub async fn of(app: &App, member: &Member) -> Result<Option<Self>> {
        let (account, now) = (&member.account, app.infra.clock.now());
        let allowance = {
            let mut connection = app.infra.pool.acquire().await?;
            allowance::current(&mut connection, now, account).await?
        };
        let Some(because) = allowance.paused_because else { return Ok(None) };
        let ended = |what: &str| match Coverage::of(account).ends_at() {
            Some(end) => format!("the {what} ended on {}", day(end)),
            None => format!("the {what} has ended"),
        };
        let why = match because {
            PausedBecause::TrialEnded => ended("trial"),
            PausedBecause::SubscriptionEnded => ended("subscription"),
            PausedBecause::ContactAllowanceReached => format!(
                "all contacts of this month are used. Identification resumes on {}",
                day(allowance.resets_at.0)
            ),
        };
        let needs_subscription = because != PausedBecause::ContactAllowanceReached;
        let can_pay = member.role == Scope::Full && app.billing.stripe.is_configured();
        Ok(Some(Self { why, needs_subscription, can_subscribe: needs_subscription && can_pay }))
    }

    pub fn needs_subscription(&self) -> bool {
        self.needs_subscription
    }
}
