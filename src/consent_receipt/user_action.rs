//! The user action that made a choice, as the consent tag reports it. A page can forge the report, because it can
//! send any request; the report shows which choices a page made with its own script.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::types::text_enum::text_enum;

text_enum! {
    /// How the popup was operated.
    pub enum Act {
        /// A mouse, a finger or a pen.
        Pointer = "pointer",
        Keyboard = "keyboard",
        /// A trusted event without pointer or key, as assistive technology makes it.
        Assistive = "assistive",
        /// A call by a script of the page.
        Page = "page",
    }
}

impl Act {
    pub fn is_by_person(self) -> bool {
        self != Self::Page
    }
}

text_enum! {
    /// For how long the popup was open before the choice.
    pub enum Seen {
        UnderOneSecond = "under_1s",
        UnderFiveSeconds = "under_5s",
        Longer = "longer",
    }
}

/// The parts of a report. Each is null if it was not reported: by earlier tags, and by programs that record without
/// the tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct UserAction {
    /// How the popup was operated; `page` if a script of the page made the choice.
    #[schema(required = true)]
    pub act: Option<Act>,
    /// For how long the popup was open before the choice.
    #[schema(required = true)]
    pub seen: Option<Seen>,
    /// Whether a program controlled the browser (`navigator.webdriver`).
    #[schema(required = true)]
    pub automated: Option<bool>,
}

impl UserAction {
    /// Whether a person acted: neither a script of the page nor a program that controls the browser.
    pub fn is_by_person(&self) -> bool {
        self.act.is_some_and(Act::is_by_person) && self.automated != Some(true)
    }

    /// From stored values. Values of a newer version are omitted.
    pub fn from_stored(act: Option<&str>, seen: Option<&str>, automated: Option<bool>) -> Self {
        Self { act: act.and_then(Act::parse), seen: seen.and_then(Seen::parse), automated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reported_action_without_automation_is_by_a_person() {
        for (act, automated, wanted) in [
            (Some("pointer"), Some(false), true),
            (Some("keyboard"), None, true),
            (Some("assistive"), Some(false), true),
            (Some("page"), Some(false), false),
            (Some("pointer"), Some(true), false),
            (Some("of tomorrow"), Some(false), false),
            (None, None, false),
        ] {
            let action = UserAction::from_stored(act, None, automated);
            assert_eq!(action.is_by_person(), wanted, "{act:?} {automated:?}");
        }
    }
}
