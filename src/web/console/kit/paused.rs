//! The banner of every screen while new visitors are not identified.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::accounts::members::member::Member;
use crate::accounts::scope::Scope;
use crate::app::App;
use crate::contacts::allowance;
use crate::contacts::allowance::coverage::{Coverage, PausedBecause};
use crate::error::Result;
use crate::infra::templates::{Message, tr};

#[derive(Serialize)]
pub struct Paused {
    why: Message,
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
        let why = match (because, Coverage::of(account).ends_at()) {
            (PausedBecause::TrialEnded, end) => trial_ended(end),
            (PausedBecause::SubscriptionEnded, end) => subscription_ended(end),
            (PausedBecause::ContactAllowanceReached, _) => tr(
                "New visitors are not identified: all contacts of this month are used. Identification resumes on {{ day }}.",
            )
            .with("day", Message::DayOf(allowance.resets_at.0)),
        };
        let needs_subscription = because != PausedBecause::ContactAllowanceReached;
        let can_pay = member.role == Scope::Full && app.billing.stripe.is_configured();
        Ok(Some(Self { why, needs_subscription, can_subscribe: needs_subscription && can_pay }))
    }

    pub fn needs_subscription(&self) -> bool {
        self.needs_subscription
    }
}

fn trial_ended(end: Option<DateTime<Utc>>) -> Message {
    match end {
        Some(end) => tr("New visitors are not identified: the trial ended on {{ day }}.")
            .with("day", Message::DayOf(end)),
        None => tr("New visitors are not identified: the trial has ended."),
    }
}

fn subscription_ended(end: Option<DateTime<Utc>>) -> Message {
    match end {
        Some(end) => tr("New visitors are not identified: the subscription ended on {{ day }}.")
            .with("day", Message::DayOf(end)),
        None => tr("New visitors are not identified: the subscription has ended."),
    }
}
