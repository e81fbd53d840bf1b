use serde::Serialize;

use crate::receipts::log::ConsentEvent;
use crate::receipts::user_action::{Act, Seen, UserAction};
use crate::types::consent::{ConsentState, Granted};
use crate::types::locales;
use crate::types::text::listed;
use crate::web::console::kit::words::second;

/// The last part of the address of the list of choices.
pub const SLUG: &str = "choices";

#[derive(Serialize)]
pub struct ChoiceWords {
    /// `accepted`, `declined` or `withdrawn`.
    pub state: &'static str,
    pub name: &'static str,
    pub at: String,
    pub purposes: Vec<String>,
    /// The popup's language, by its own name, if known.
    pub language: Option<&'static str>,
    /// How the choice was made, if known.
    pub action: Option<String>,
}

impl ChoiceWords {
    pub fn of(event: &ConsentEvent) -> Self {
        let receipt = &event.fields;
        let language = event.shown.as_ref().and_then(|shown| locales::named(&shown.language));
        Self {
            state: receipt.consent_state.as_str(),
            name: state_name(receipt.consent_state),
            at: second(receipt.recorded_at),
            purposes: purposes_of(&receipt.purposes),
            language: language.map(|locale| &*locale.name),
            action: event.shown.as_ref().and_then(|shown| action_of(shown.action)),
        }
    }

    pub fn sentence(event: &ConsentEvent, host: &str) -> String {
        let receipt = &event.fields;
        let (at, visitor) = (second(receipt.recorded_at), receipt.visitor_id.as_str());
        let did = match receipt.consent_state {
            ConsentState::Accepted => {
                let purposes = receipt.purposes.iter().map(title_of).collect::<Vec<_>>();
                format!("agreed to {}", listed(&purposes))
            }
            ConsentState::Declined => "declined all purposes".to_owned(),
            ConsentState::Withdrawn => "withdrew all consent".to_owned(),
        };
        format!("On {at} (UTC) the visitor {visitor} of {host} {did}.")
    }
}

pub fn state_name(state: ConsentState) -> &'static str {
    match state {
        ConsentState::Accepted => "Accepted",
        ConsentState::Declined => "Declined",
        ConsentState::Withdrawn => "Withdrawn",
    }
}

pub fn purposes_of(purposes: &[Granted]) -> Vec<String> {
    purposes.iter().map(title_of).collect()
}

/// How the choice was made, as the browser reported it.
fn action_of(action: UserAction) -> Option<String> {
    let made = match action.act? {
        Act::Pointer => "with a mouse, a finger or a pen",
        Act::Keyboard => "with the keyboard",
        Act::Assistive => "with assistive technology",
        Act::Page => "by a script of the page, not by a press in the popup",
    };
    let seen = match action.seen {
        None => "",
        Some(Seen::UnderOneSecond) => ", less than a second after the popup had opened",
        Some(Seen::UnderFiveSeconds) => ", less than five seconds after the popup had opened",
        Some(Seen::Longer) => ", more than five seconds after the popup had opened",
    };
    let automated = match action.automated {
        Some(true) => ", in a browser that a program controlled",
        Some(false) | None => "",
    };
    Some(format!("{made}{seen}{automated}"))
}

/// A purpose's title in quotation marks; one of a newer version by its name.
fn title_of(purpose: &Granted) -> String {
    let name = purpose.as_str();
    let title = locales::english().purposes.get(name).map_or(name, |text| &*text.title);
    format!("\u{201c}{title}\u{201d}")
}
