//! Translations of terms in watch reports. Reasons that a watcher wrote are not translated.

use crate::infra::templates::{Message, tr};
use crate::silence::view::SiteVerdict;

pub fn verdict_name(verdict: SiteVerdict) -> Message {
    match verdict {
        SiteVerdict::Silent => tr("Silent"),
        SiteVerdict::Leaks => tr("Loads something without consent"),
        SiteVerdict::NotObserved => tr("Not observed"),
    }
}

/// The translation of the name of a visit in a report.
pub fn visit_name(name: &str) -> Message {
    match name {
        "untouched" => tr("untouched"),
        "declined" => tr("declined"),
        "accepted_then_withdrawn" => tr("accepted then withdrawn"),
        "gpc" => tr("gpc"),
        "returning" => tr("returning"),
        "blocked" => tr("blocked"),
        other => Message::plain(other.replace('_', " ")),
    }
}

/// The translation of a kind of leak in a report. Names of techniques stay as they are.
pub fn kind_name(name: &str) -> Message {
    match name {
        "document" => tr("document"),
        "frame" => tr("frame"),
        "script" => tr("script"),
        "style" => tr("style"),
        "font" => tr("font"),
        "image" => tr("image"),
        "media" => tr("media"),
        "object" => tr("object"),
        "report" => tr("report"),
        "other" => tr("other"),
        "cookie" => tr("cookie"),
        "storage" => tr("storage"),
        other => Message::plain(other),
    }
}

/// The translation of a line `visit: reason` about a visit that was not observed.
pub fn unobserved(text: &str) -> Message {
    let Some((visit, reason)) = text.split_once(": ") else { return Message::plain(text) };
    let reason = match reason {
        "no reason is known" => tr("no reason is known"),
        "the time of the page was over" => tr("the time of the page was over"),
        other => Message::plain(other),
    };
    tr("{{ visit }}: {{ reason }}").with("visit", visit_name(visit)).with("reason", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn every_visit_has_a_name() {
        let kinds = include_str!("../../../visit/kinds.rs");
        let names = kinds.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next());
        let names = names.collect::<Vec<_>>();
        assert_eq!(names.len(), 6, "{names:?}");
        for name in names {
            assert!(!matches!(visit_name(name), Message::Plain(_)), "{name}");
        }
        let text = "accepted_then_withdrawn: the browser did not start";
        let expected = "accepted then withdrawn: the browser did not start";
        assert_eq!(in_english(&unobserved(text)), expected);
    }
}
