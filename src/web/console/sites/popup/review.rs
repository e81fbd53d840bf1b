//! The review of the popup's form before it is published: what is missing, and what changes.

use serde::Serialize;

use super::fields::{COLORS, Fields, SCHEMES};
use super::words::{color_of, label_of, value_name};
use crate::infra::templates::{Message, tr};
use crate::policies::policy::USUAL_DAYS;
use crate::types::consent::Purpose;

/// The information that Article 13 GDPR requires and that is missing from the form.
pub fn gaps(fields: &Fields) -> Vec<Message> {
    let is_empty = |name: &str| fields.get(name).is_none_or(|text| text.trim().is_empty());
    let is_asked = |purpose: &Purpose| fields.is_ticked(&format!("purpose_{}", purpose.as_str()));
    let shares = fields.is_ticked("data_sharing") || Purpose::SHARING.iter().any(is_asked);
    let gaps = [
        (is_empty("controller_contact"), tr("Privacy contact: how visitors reach the controller")),
        (shares && is_empty("disclosed_parties"), tr("Recipients: who receives the data")),
        (is_empty("retention"), tr("Retention period: how long the data is stored")),
        (
            is_empty("site_policy_url"),
            tr(
                "Your privacy policy: legal basis, rights of visitors, and complaints to an authority",
            ),
        ),
    ];
    gaps.into_iter().filter_map(|(is_missing, gap)| is_missing.then_some(gap)).collect()
}

/// The schemes with chosen colours that have no effect, because their box is not ticked.
pub fn unused_colors(fields: &Fields) -> Vec<&'static str> {
    let is_unused = |(at, scheme): &(usize, &&str)| {
        let chosen = COLORS.iter().any(|(name, usual)| {
            let color = fields.get(&format!("{scheme}_{name}"));
            color.is_some_and(|color| !color.eq_ignore_ascii_case(usual[*at]))
        });
        chosen && !fields.is_ticked(&format!("own_{scheme}"))
    };
    let unused = SCHEMES.iter().enumerate().filter(is_unused);
    unused.map(|(_, scheme)| *scheme).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ChangedArea {
    Colours,
    Appearance,
    Settings,
    Notice,
}

#[derive(Debug, Serialize)]
pub struct FieldChange {
    name: Message,
    before: Message,
    after: Message,
    area: ChangedArea,
}

/// The fields whose effective values differ.
pub fn changes_between(before: &Fields, after: &Fields) -> Vec<FieldChange> {
    let names = Fields::names().into_iter().filter(|name| !name.starts_with("own_"));
    let changes = names.filter_map(|name| {
        let [before, after] = [before, after].map(|fields| value_of(fields, &name));
        (before != after).then(|| FieldChange {
            area: area_of(&name),
            name: label_of(&name),
            before,
            after,
        })
    });
    changes.collect()
}

/// A sentence about all changes together.
pub fn summary(changes: &[FieldChange]) -> Message {
    match changes.iter().map(|change| change.area).max() {
        None => tr("Nothing changes."),
        Some(ChangedArea::Colours) => tr("Only colours change."),
        Some(ChangedArea::Appearance) => tr("Only the appearance changes."),
        Some(ChangedArea::Settings) => {
            tr("Only settings change: the text of the notice stays the same.")
        }
        Some(ChangedArea::Notice) => tr("The text of the notice changes."),
    }
}

fn area_of(name: &str) -> ChangedArea {
    match name {
        "position" | "radius" | "font" | "hide_button" | "corner" => ChangedArea::Appearance,
        "contacts_need_consent" | "contacts_need_act" | "share_subdomains" => ChangedArea::Settings,
        name if color_of(name).is_some() => ChangedArea::Colours,
        _ => ChangedArea::Notice,
    }
}

fn is_box(name: &str) -> bool {
    ["purpose_", "channel_", "contacts_need_"].iter().any(|start| name.starts_with(start))
        || ["data_sharing", "share_subdomains", "hide_button"].contains(&name)
}

fn value_of(fields: &Fields, name: &str) -> Message {
    if is_box(name) {
        return if fields.is_ticked(name) { tr("yes") } else { tr("no") };
    }
    let text = fields.get(name).unwrap_or_default();
    if let Some((scheme, _)) = color_of(name) {
        let is_own = fields.is_ticked(&format!("own_{scheme}"));
        return if is_own { Message::plain(text.to_ascii_lowercase()) } else { tr("default") };
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (name, lines.collect::<Vec<_>>().join("; ")) {
        ("position", text) if text.is_empty() => value_name("bottom"),
        ("corner", text) if text.is_empty() => value_name("bottom-left"),
        ("position" | "corner" | "controller_type", text) if !text.is_empty() => value_name(&text),
        ("consent_days", text) if text.is_empty() => Message::plain(USUAL_DAYS.to_string()),
        ("radius" | "font", text) if text.is_empty() => tr("default"),
        (_, text) if text.is_empty() => tr("none"),
        (_, text) => Message::Plain(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    fn fields(given: &[(&str, &str)]) -> Fields {
        Fields::read_with(|name| {
            given.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        })
    }

    fn changed(before: &[(&str, &str)], after: &[(&str, &str)]) -> (Vec<String>, String) {
        let changes = changes_between(&fields(before), &fields(after));
        let line = |it: &FieldChange| {
            let [name, before, after] = [&it.name, &it.before, &it.after].map(in_english);
            format!("{name}: {before} → {after}")
        };
        (changes.iter().map(line).collect(), in_english(&summary(&changes)))
    }

    #[test]
    fn colours_count_only_where_their_box_is_ticked() {
        let unticked = changed(&[], &[("dark_text", "#123456")]);
        assert_eq!(unticked, (vec![], "Nothing changes.".to_owned()));
        let ticked = [("own_dark", "on"), ("dark_text", "#123456")];
        let (changes, summary) = changed(&ticked, &[("own_dark", "on"), ("dark_text", "#ABCDEF")]);
        assert_eq!(changes, ["Text, dark: #123456 → #abcdef"]);
        assert_eq!(summary, "Only colours change.");
    }

    #[test]
    fn defaults_and_line_ends_are_no_changes() {
        let before = [("disclosed_parties", "One\nTwo"), ("consent_days", "182")];
        let after = [("disclosed_parties", "One\r\n Two\r\n"), ("position", "bottom")];
        assert_eq!(changed(&before, &after), (vec![], "Nothing changes.".to_owned()));
    }

    #[test]
    fn the_gravest_change_is_named() {
        let (_, summary) = changed(&[], &[("radius", "3"), ("own_light", "on")]);
        assert_eq!(summary, "Only the appearance changes.");
        let (changes, summary) = changed(&[], &[("radius", "3"), ("purpose_newsletter", "on")]);
        assert!(changes[1].ends_with(": no → yes"), "{changes:?}");
        assert_eq!(summary, "The text of the notice changes.");
    }
}
