use chrono::NaiveDate;

pub use super::sentences::sentence;
use crate::accounts::account::monthly_amount;
use crate::accounts::scope::Scope;
use crate::consent_receipt::user_action::Act;
use crate::erasure::view::ErasedRows;
use crate::infra::templates::{Message, tr};
use crate::types::device::Device;
pub use crate::types::formatting::percent;

pub fn act(act: Act) -> Message {
    match act {
        Act::Pointer => tr("Mouse, finger or pen"),
        Act::Keyboard => tr("Keyboard"),
        Act::Assistive => tr("Assistive technology"),
        Act::Page => tr("A script of the page"),
    }
}

pub fn device(device: Device) -> Message {
    match device {
        Device::Desktop => tr("computer"),
        Device::Phone => tr("phone"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastDay {
    Today,
    Yesterday,
    Earlier,
}

pub fn past_day(day: NaiveDate, today: NaiveDate) -> PastDay {
    match (today - day).num_days() {
        0 => PastDay::Today,
        1 => PastDay::Yesterday,
        _ => PastDay::Earlier,
    }
}

pub fn role_name(scope: Scope) -> Message {
    match scope {
        Scope::Full => tr("Admin"),
        Scope::Operate => tr("Editor"),
        Scope::Read => tr("Read-only"),
    }
}

/// Chooses one of three texts by number, for example "no sites", "one site" or "{{ number }} sites". The third may
/// also use `many`, the number without thousands separators.
pub fn counted(many: i64, [none, one, more]: [Message; 3]) -> Message {
    match many {
        0 => none,
        1 => one,
        _ => more.with("many", many).with("number", Message::Number(many)),
    }
}

pub fn sites(many: i64) -> Message {
    counted(many, [tr("no sites"), tr("one site"), tr("{{ number }} sites")])
}

/// The price of a subscription.
pub fn price() -> Message {
    tr("{{ amount }} a month").with("amount", monthly_amount())
}

pub fn of_visitor(rows: &ErasedRows) -> Message {
    let parts = [
        (rows.receipts, [tr("one receipt"), tr("{{ number }} receipts")]),
        (rows.contacts, [tr("one contact"), tr("{{ number }} contacts")]),
        (rows.days_shown, [tr("one impression"), tr("{{ number }} impressions")]),
    ];
    let stored = parts.into_iter().filter(|(count, _)| *count > 0);
    let named = stored.map(|(count, [one, more])| counted(count, [Message::plain(""), one, more]));
    match named.collect::<Vec<_>>() {
        none if none.is_empty() => tr("nothing"),
        named => Message::List(named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn a_count_is_written_in_words() {
        let counts = [0, 1, 2_000].map(|many| in_english(&sites(many)));
        assert_eq!(counts, ["no sites", "one site", "2,000 sites"]);
        let rows = |receipts, days_shown| ErasedRows { receipts, contacts: 0, days_shown };
        assert_eq!(in_english(&of_visitor(&rows(1, 2))), "one receipt and 2 impressions");
        assert_eq!(in_english(&of_visitor(&rows(0, 0))), "nothing");
    }

    #[test]
    fn a_day_of_late_has_a_name() {
        let today = NaiveDate::default();
        let days = [0, 1, 2].map(|days| today - chrono::Days::new(days));
        let names = days.map(|day| past_day(day, today));
        assert_eq!(names, [PastDay::Today, PastDay::Yesterday, PastDay::Earlier]);
    }
}
