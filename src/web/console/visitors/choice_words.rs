use serde::Serialize;

use crate::consent_receipt::user_action::{Act, Seen, UserAction};
use crate::infra::templates::{Message, tr};
use crate::receipts::consent_log::ConsentEvent;
use crate::types::consent::{ConsentState, Granted, Purpose};
use crate::types::locales;

/// The last part of the address of the list of choices.
pub const SLUG: &str = "choices";

#[derive(Serialize)]
pub struct ChoiceWords {
    /// `accepted`, `declined` or `withdrawn`.
    pub state: &'static str,
    pub name: Message,
    pub at: Message,
    pub purposes: Vec<Message>,
    /// The popup's language, named in that language, if known.
    pub language: Option<&'static str>,
    /// The way in which the choice was made, if known.
    pub action: Option<Message>,
}

impl ChoiceWords {
    pub fn of(event: &ConsentEvent) -> Self {
        let receipt = &event.fields;
        let language = event.shown.as_ref().and_then(|shown| locales::named(&shown.language));
        Self {
            state: receipt.consent_state.as_str(),
            name: state_name(receipt.consent_state),
            at: Message::Second(receipt.recorded_at),
            purposes: purposes_of(&receipt.purposes),
            language: language.map(|locale| &*locale.name),
            action: event.shown.as_ref().and_then(|shown| action_of(shown.action)),
        }
    }

    /// A sentence about the visitor's choice. `time` is the time of the choice as text.
    pub fn sentence(event: &ConsentEvent, host: &str, time: Message) -> Message {
        let receipt = &event.fields;
        let sentence = match receipt.consent_state {
            ConsentState::Accepted => tr(
                "On {{ time }} the visitor {{ visitor }} of {{ host }} agreed to {{ purposes }}.",
            )
            .with("purposes", Message::List(purposes_of(&receipt.purposes))),
            ConsentState::Declined => {
                tr("On {{ time }} the visitor {{ visitor }} of {{ host }} declined all purposes.")
            }
            ConsentState::Withdrawn => {
                tr("On {{ time }} the visitor {{ visitor }} of {{ host }} withdrew all consent.")
            }
        };
        sentence.with("time", time).with("visitor", receipt.visitor_id.as_str()).with("host", host)
    }
}

pub fn state_name(state: ConsentState) -> Message {
    match state {
        ConsentState::Accepted => tr("Accepted"),
        ConsentState::Declined => tr("Declined"),
        ConsentState::Withdrawn => tr("Withdrawn"),
    }
}

/// Titles in quotation marks. A purpose that this version of the service does not know is named as in the receipt.
pub fn purposes_of(purposes: &[Granted]) -> Vec<Message> {
    let title = |purpose: &Granted| match purpose {
        Granted::Known(purpose) => purpose_title(*purpose),
        Granted::Newer(name) => Message::plain(name),
    };
    purposes.iter().map(|purpose| tr("“{{ title }}”").with("title", title(purpose))).collect()
}

/// The title that visitors read.
pub fn purpose_title(purpose: Purpose) -> Message {
    match purpose {
        Purpose::Analytics => tr("Statistics"),
        Purpose::Resolution => tr("Recognising you"),
        Purpose::Newsletter => tr("Newsletter"),
        Purpose::EmailSharing => tr("Sharing your email address"),
        Purpose::PhoneSharing => tr("Sharing your phone number"),
        Purpose::PartnerEmail => tr("Emails from partners"),
        Purpose::PartnerCalls => tr("Calls from partners"),
        Purpose::PartnerSms => tr("Text messages from partners"),
    }
}

/// The way in which the choice was made, as the browser reported it.
fn action_of(action: UserAction) -> Option<Message> {
    let made = match action.act? {
        Act::Pointer => tr("The browser reports that it was made with a mouse, a finger or a pen."),
        Act::Keyboard => tr("The browser reports that it was made with the keyboard."),
        Act::Assistive => tr("The browser reports that it was made with assistive technology."),
        Act::Page => tr(
            "The browser reports that it was made by a script of the page, not by a press in the popup.",
        ),
    };
    let seen = action.seen.map(|seen| match seen {
        Seen::UnderOneSecond => tr("The popup had been open for less than a second."),
        Seen::UnderFiveSeconds => tr("The popup had been open for less than five seconds."),
        Seen::Longer => tr("The popup had been open for more than five seconds."),
    });
    let automated =
        (action.automated == Some(true)).then(|| tr("A program controlled the browser."));
    Some(Message::Sentences([Some(made), seen, automated].into_iter().flatten().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn purposes_have_the_titles_that_visitors_read() {
        for purpose in Purpose::ALL {
            let title = &locales::english().purposes[purpose.as_str()].title;
            assert_eq!(in_english(&purpose_title(*purpose)), *title);
        }
    }
}
