//! Words of the popup's form: purposes, channels, positions, and the labels and values of its fields.

use serde_json::{Value, json};

use super::fields::SCHEMES;
use crate::infra::templates::{Message, tr};
use crate::types::consent::{Channel, Purpose};
use crate::web::console::visitors::choice_words::purpose_title;

pub const POSITIONS: [&str; 5] = ["bottom", "bottom-left", "bottom-right", "top", "center"];
pub const CORNERS: [&str; 4] = ["bottom-left", "bottom-right", "top-left", "top-right"];

/// The text that visitors read below the title of a purpose.
pub fn purpose_text(purpose: Purpose) -> Message {
    match purpose {
        Purpose::Analytics => tr("Count visits and see which pages are used, to improve the site."),
        Purpose::Resolution => tr(
            "Match your visit to you by a code made from your email address, if a partner knows it. The code can only be compared, not turned back.",
        ),
        Purpose::Newsletter => tr("Send you news and offers of this company by email."),
        Purpose::EmailSharing => {
            tr("Pass your email address on to the partners named in the notice.")
        }
        Purpose::PhoneSharing => {
            tr("Pass your phone number on to the partners named in the notice.")
        }
        Purpose::PartnerEmail => tr("Let the partners named in the notice write to you by email."),
        Purpose::PartnerCalls => tr("Let the partners named in the notice call you."),
        Purpose::PartnerSms => tr("Let the partners named in the notice send you text messages."),
    }
}

pub fn channel_name(channel: Channel) -> Message {
    match channel {
        Channel::Email => tr("Email"),
        Channel::Phone => tr("Phone"),
        Channel::Sms => tr("Text message"),
        Channel::Agentic => tr("AI agents"),
    }
}

pub fn position_option(position: &str) -> Value {
    let name = match position {
        "bottom" => tr("Bottom"),
        "bottom-left" => tr("Bottom, left"),
        "bottom-right" => tr("Bottom, right"),
        "top" => tr("Top"),
        "top-left" => tr("Top, left"),
        "top-right" => tr("Top, right"),
        "center" => tr("Center"),
        other => Message::plain(other),
    };
    json!({ "value": position, "name": name })
}

/// The label of an option in a table of changes; other values stay as they are.
pub fn value_name(value: &str) -> Message {
    match value {
        "bottom" => tr("bottom"),
        "bottom-left" => tr("bottom-left"),
        "bottom-right" => tr("bottom-right"),
        "top" => tr("top"),
        "top-left" => tr("top-left"),
        "top-right" => tr("top-right"),
        "center" => tr("center"),
        "company" => tr("company"),
        "person" => tr("person"),
        "organization" => tr("organization"),
        other => Message::plain(other),
    }
}

/// The scheme and the colour in the name of a field of a palette.
pub fn color_of(name: &str) -> Option<(&str, &str)> {
    name.split_once('_').filter(|(scheme, _)| SCHEMES.contains(scheme))
}

pub fn label_of(name: &str) -> Message {
    if let Some((scheme, color)) = color_of(name) {
        return color_label(scheme, color);
    }
    if let Some(purpose) = name.strip_prefix("purpose_").and_then(Purpose::parse) {
        return tr("Purpose: {{ purpose }}").with("purpose", purpose_title(purpose));
    }
    if let Some(channel) = name.strip_prefix("channel_").and_then(Channel::parse) {
        return tr("Contact channel: {{ channel }}").with("channel", channel_name(channel));
    }
    match name {
        "controller_name" => tr("Name of the data controller"),
        "controller_type" => tr("Legal form"),
        "controller_contact" => tr("Privacy contact"),
        "controller_jurisdiction" => tr("Governing law (jurisdiction)"),
        "controller_address" => tr("Postal address"),
        "rule_version" => tr("Version of your rules"),
        "data_sharing" => tr("Data is shared with third parties"),
        "disclosed_parties" => tr("Recipients"),
        "site_policy_url" => tr("Your privacy policy (URL)"),
        "consent_days" => tr("Consent expires after (days)"),
        "personal_data" => tr("Categories of personal data"),
        "storage_places" => tr("Storage locations"),
        "retention" => tr("Retention period"),
        "contacts_need_consent" => tr("Require consent to store contacts"),
        "contacts_need_act" => tr("Require consent given by the visitor"),
        "share_subdomains" => tr("One choice for all subdomains"),
        "position" => tr("Position"),
        "radius" => tr("Corner radius (px)"),
        "font" => tr("Font"),
        "hide_button" => tr("Hide the floating consent button"),
        "corner" => tr("Consent button (floating)"),
        other => Message::plain(other),
    }
}

fn color_label(scheme: &str, color: &str) -> Message {
    match (scheme, color) {
        ("light", "background") => tr("Background, light"),
        ("light", "text") => tr("Text, light"),
        ("light", "button") => tr("Buttons, light"),
        ("light", "button_text") => tr("Text on buttons, light"),
        ("light", _) => tr("Links, light"),
        (_, "background") => tr("Background, dark"),
        (_, "text") => tr("Text, dark"),
        (_, "button") => tr("Buttons, dark"),
        (_, "button_text") => tr("Text on buttons, dark"),
        _ => tr("Links, dark"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;
    use crate::policies::policy::CURRENT_WORDING;
    use crate::types::locales;
    use crate::web::console::sites::popup::fields::Fields;

    #[test]
    fn purposes_are_described_as_visitors_read_them() {
        for purpose in Purpose::ALL {
            let words = locales::english().purpose(purpose.as_str(), CURRENT_WORDING);
            assert_eq!(in_english(&purpose_title(*purpose)), words.title);
            assert_eq!(in_english(&purpose_text(*purpose)), words.text);
        }
    }

    #[test]
    fn every_field_has_a_label_and_every_position_is_accepted() {
        let names = Fields::names().into_iter().filter(|name| !name.starts_with("own_"));
        for name in names {
            assert_ne!(in_english(&label_of(&name)), name);
        }
        for (field, positions) in [("position", &POSITIONS[..]), ("corner", &CORNERS[..])] {
            for position in positions {
                assert!(!matches!(value_name(position), Message::Plain(_)), "{field} {position}");
                assert_eq!(position_option(position)["name"]["$message"], "text");
            }
        }
    }
}
