//! Texts, times and numbers for people. They become text in the language and time zone of the reader when a
//! page or mail is rendered.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key of a message among the values of a template.
pub(super) const KEY: &str = "$message";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "$message", content = "value", rename_all = "snake_case")]
pub enum Message {
    /// A text in English with Tera expressions, and their values.
    Text(Cow<'static, str>, Vec<(Cow<'static, str>, Value)>),
    /// A name, or a text that has no translation.
    Plain(String),
    /// One after the other, with spaces between them.
    Sentences(Vec<Message>),
    /// "a, b and c".
    List(Vec<Message>),
    Day(NaiveDate),
    DayAndMonth(NaiveDate),
    /// The name of a month.
    Month(NaiveDate),
    /// The date of a moment in the reader's time zone.
    DayOf(DateTime<Utc>),
    Minute(DateTime<Utc>),
    Second(DateTime<Utc>),
    /// To the minute, with the name of the time zone.
    Moment(DateTime<Utc>),
    Number(i64),
    /// With two decimals.
    Percent(f64),
    WholePercent(i64),
}

/// A text for people. The argument must be a literal, because a test collects the texts to translate from the source.
pub const fn tr(text: &'static str) -> Message {
    Message::Text(Cow::Borrowed(text), Vec::new())
}

impl Message {
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// Adds the value of an expression in the text. The value may be a message too.
    pub fn with(mut self, name: &'static str, value: impl Serialize) -> Self {
        if let Self::Text(_, values) = &mut self {
            let value = serde_json::to_value(value).unwrap_or_default();
            values.push((Cow::Borrowed(name), value));
        }
        self
    }
}

impl From<String> for Message {
    fn from(name: String) -> Self {
        Self::Plain(name)
    }
}
