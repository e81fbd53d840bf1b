use super::words::day;
use crate::accounts::account::Plan;
use crate::billing::whoami::WhoAmI;
use crate::contacts::allowance::coverage::PausedBecause;

pub fn plan_summary(caller: &WhoAmI) -> String {
    if caller.plan == Plan::Unlimited {
        return plan(caller);
    }
    let allowance = &caller.allowance;
    let of = |included: Option<i64>| included.map(|of| format!(" of {of}")).unwrap_or_default();
    format!(
        "{} {}{} new contacts this month, {}{} sites.{}",
        plan_alone(caller),
        allowance.contacts_used,
        of(allowance.contacts_included),
        allowance.pixels_used,
        of(allowance.pixels_included),
        paused(caller),
    )
}

pub fn plan(caller: &WhoAmI) -> String {
    format!("{}{}", plan_alone(caller), paused(caller))
}

fn plan_alone(caller: &WhoAmI) -> String {
    let until = caller.paid_until.as_ref().map(|time| day(time.0));
    let because = caller.allowance.paused_because;
    match (caller.plan, until) {
        (Plan::Unlimited, _) => "Without limits.".to_owned(),
        (Plan::Paid, Some(until)) if because == Some(PausedBecause::SubscriptionEnded) => {
            format!("The subscription ended on {until}.")
        }
        (Plan::Paid, Some(until)) => format!("Paid until {until}."),
        (Plan::Paid, None) => "Paid.".to_owned(),
        (Plan::Free, _) if because == Some(PausedBecause::TrialEnded) => {
            format!("The trial ended on {}.", day(caller.trial_ends_at.0))
        }
        (Plan::Free, _) => format!("Trial until {}.", day(caller.trial_ends_at.0)),
    }
}

fn paused(caller: &WhoAmI) -> &'static str {
    match caller.allowance.paused_because {
        None => "",
        Some(PausedBecause::ContactAllowanceReached) => {
            " New visitors are not identified until the month ends; the popup and receipts are not affected."
        }
        Some(_) => {
            " New visitors are not identified until you subscribe; the popup and receipts are not affected."
        }
    }
}
