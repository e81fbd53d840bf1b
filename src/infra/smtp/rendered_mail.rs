//! Mails whose texts are rendered when they are sent, in the language and time zone of the recipient.

use chrono_tz::Tz;
use lettre::Address;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::infra::templates::language::{self, Language};
use crate::infra::templates::message::Message;

/// The language and the time zone of a mail's recipient.
#[derive(Clone, Copy)]
pub struct Recipient {
    pub language: &'static Language,
    pub time_zone: Tz,
}

impl Default for Recipient {
    fn default() -> Self {
        Self { language: language::english(), time_zone: Tz::UTC }
    }
}

impl Serialize for Recipient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.language.tag, self.time_zone.name()).serialize(serializer)
    }
}

/// An unknown language is replaced by English, and an unknown time zone by UTC.
impl<'de> Deserialize<'de> for Recipient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (tag, zone) = <(String, String)>::deserialize(deserializer)?;
        let language = language::find(&tag).unwrap_or_else(language::english);
        Ok(Self { language, time_zone: zone.parse().unwrap_or(Tz::UTC) })
    }
}

pub struct RenderedMail {
    pub to: Address,
    pub subject: Message,
    /// The values of the template, which may contain messages.
    pub values: Value,
    pub recipient: Recipient,
    /// The one-click unsubscribe address (RFC 8058), if there is one.
    pub unsubscribe_url: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_recipient_is_read_again_and_unknown_ones_read_english() {
        let berlin =
            Recipient { language: language::find("de").unwrap(), time_zone: Tz::Europe__Berlin };
        let stored = serde_json::to_value(berlin).unwrap();
        assert_eq!(stored, json!(["de", "Europe/Berlin"]));
        let read = |stored| serde_json::from_value::<Recipient>(stored).unwrap();
        assert_eq!(read(stored).time_zone, Tz::Europe__Berlin);
        let unknown = read(json!(["xx", "Mars/Olympus"]));
        assert!(unknown.language.is_english() && unknown.time_zone == Tz::UTC);
    }
}
