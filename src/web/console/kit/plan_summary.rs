use crate::accounts::account::Plan;
use crate::billing::whoami::WhoAmI;
use crate::contacts::allowance::coverage::PausedBecause;
use crate::infra::templates::{Message, tr};

pub fn plan_summary(caller: &WhoAmI) -> Message {
    if caller.plan == Plan::Unlimited {
        return plan(caller);
    }
    let allowance = &caller.allowance;
    let both = tr("{{ contacts }} new contacts this month, {{ sites }} sites.")
        .with("contacts", used(allowance.contacts_used, allowance.contacts_included))
        .with("sites", used(allowance.pixels_used, allowance.pixels_included));
    let sentences = [Some(plan_alone(caller)), Some(both), paused(caller)];
    Message::Sentences(sentences.into_iter().flatten().collect())
}

pub fn plan(caller: &WhoAmI) -> Message {
    let sentences = [Some(plan_alone(caller)), paused(caller)];
    Message::Sentences(sentences.into_iter().flatten().collect())
}

fn used(used: i64, included: Option<i64>) -> Message {
    match included {
        Some(included) => {
            tr("{{ part }} of {{ whole }}").with("part", used).with("whole", included)
        }
        None => Message::Plain(used.to_string()),
    }
}

fn plan_alone(caller: &WhoAmI) -> Message {
    let until = caller.paid_until.as_ref().map(|time| Message::DayOf(time.0));
    let trial_end = Message::DayOf(caller.trial_ends_at.0);
    let because = caller.allowance.paused_because;
    match (caller.plan, until) {
        (Plan::Unlimited, _) => tr("Without limits."),
        (Plan::Paid, Some(until)) if because == Some(PausedBecause::SubscriptionEnded) => {
            tr("The subscription ended on {{ day }}.").with("day", until)
        }
        (Plan::Paid, Some(until)) => tr("Paid until {{ day }}.").with("day", until),
        (Plan::Paid, None) => tr("Paid."),
        (Plan::Free, _) if because == Some(PausedBecause::TrialEnded) => {
            tr("The trial ended on {{ day }}.").with("day", trial_end)
        }
        (Plan::Free, _) => tr("Trial until {{ day }}.").with("day", trial_end),
    }
}

fn paused(caller: &WhoAmI) -> Option<Message> {
    Some(match caller.allowance.paused_because? {
        PausedBecause::ContactAllowanceReached => tr(
            "New visitors are not identified until the month ends; the popup and receipts are not affected.",
        ),
        _ => tr(
            "New visitors are not identified until you subscribe; the popup and receipts are not affected.",
        ),
    })
}
