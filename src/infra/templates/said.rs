//! Texts, times and numbers of the program for people. Templates show them in the language of their reader:
//! `{{ heading | said }}`.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use tera::{Context, Tera, Value};

use super::catalogue::Catalogue;

/// Forms that catalogues translate like texts: a day, a moment, and a number with its thousands, its decimals
/// and its percent sign. Names of months have the context [`MONTH`].
pub const DAY: &str = "%-d %B %Y";
pub const MOMENT: &str = "%-d %B %Y, %H:%M UTC";
pub const NUMBER: &str = "1,234.5%";
pub const MONTH: &str = "month";
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// A text in English with Tera expressions, and their values.
    Text(Cow<'static, str>, Vec<(Cow<'static, str>, Value)>),
    Day(NaiveDate),
    /// In UTC.
    Moment(DateTime<Utc>),
    /// With two decimals.
    Percent(f64),
}

/// A text for people. Its argument is a literal: a test reads the source for what must be translated.
pub const fn said(text: &'static str) -> Said {
    Said::Text(Cow::Borrowed(text), Vec::new())
}

impl Said {
    /// A text that has no translation.
    pub fn plain(text: String) -> Self {
        Self::Text(Cow::Owned(text), Vec::new())
    }

    /// Gives an expression of the text its value, which may be `Said` too.
    pub fn with(mut self, name: &'static str, value: impl Serialize) -> Self {
        if let Self::Text(_, values) = &mut self {
            let value = serde_json::to_value(value).unwrap_or_default();
            values.push((Cow::Borrowed(name), value));
        }
        self
    }
}

/// Lets templates of an engine use `said`.
pub fn teach(tera: &mut Tera, catalogue: &'static Catalogue) {
    let show = move |value: &Value, _: &HashMap<String, Value>| -> tera::Result<Value> {
        Ok(Value::String(catalogue.say(value)))
    };
    tera.register_filter("said", show);
}

impl Catalogue {
    /// A text that is not `Said` stays as it is: it is a name, or in the right language already.
    pub fn say(&self, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => match Said::deserialize(other) {
                Ok(said) => self.said(&said),
                Err(_) => other.to_string(),
            },
        }
    }

    pub fn said(&self, said: &Said) -> String {
        match said {
            Said::Text(text, values) => self.text(text, values),
            Said::Day(day) => self.day(*day, DAY),
            Said::Moment(time) => {
                let form = self.day(time.date_naive(), MOMENT);
                time.format(&form).to_string()
            }
            Said::Percent(part) => self.number(*part) + self.parts_of_number().2,
        }
    }

    fn text(&self, text: &str, values: &[(Cow<'static, str>, Value)]) -> String {
        let text = self.find(text).unwrap_or(text);
        if values.is_empty() {
            return text.to_owned();
        }
        let mut context = Context::new();
        for (name, value) in values {
            match value {
                Value::Object(_) => context.insert(&**name, &self.say(value)),
                other => context.insert(&**name, other),
            }
        }
        Tera::one_off(text, &context, false).unwrap_or_else(|_| text.to_owned())
    }

    /// A day in one of the forms. What the form says about the time stays.
    fn day(&self, day: NaiveDate, form: &str) -> String {
        let month = MONTHS[day.month0() as usize];
        let month = self.find_in(MONTH, month).unwrap_or(month);
        let form = self.find(form).unwrap_or(form);
        form.replace("%-d", &day.day().to_string())
            .replace("%B", month)
            .replace("%Y", &day.year().to_string())
    }

    fn number(&self, number: f64) -> String {
        let (thousands, decimals, _) = self.parts_of_number();
        let plain = format!("{number:.2}");
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let mut text = String::new();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                text.push_str(thousands);
            }
            text.push(digit);
        }
        format!("{text}{decimals}{fraction}")
    }

    /// The separators of thousands and of decimals, and the end of a percentage.
    fn parts_of_number(&self) -> (&str, &str, &str) {
        let form = self.find(NUMBER).unwrap_or(NUMBER);
        let between = |start: char, end: char| {
            let rest = form.split_once(start).map_or("", |(_, rest)| rest);
            rest.split_once(end).map_or("", |(between, _)| between)
        };
        let percent = form.split_once('5').map_or("", |(_, percent)| percent);
        (between('1', '2'), between('4', '5'), percent)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn german() -> Catalogue {
        Catalogue::of(
            "msgid \"{{ many }} key{{ many | pluralize }} of {{ who }}\"\n\
             msgstr \"{{ many }} Schlüssel von {{ who }}\"\n\
             msgid \"nobody\"\nmsgstr \"niemand\"\n\
             msgid \"%-d %B %Y\"\nmsgstr \"%-d. %B %Y\"\n\
             msgid \"%-d %B %Y, %H:%M UTC\"\nmsgstr \"%-d. %B %Y, %H:%M Uhr (UTC)\"\n\
             msgctxt \"month\"\nmsgid \"May\"\nmsgstr \"Mai\"\n\
             msgid \"1,234.5%\"\nmsgstr \"1.234,5 %\"\n",
        )
    }

    #[test]
    fn texts_times_and_numbers_are_said_in_each_language() {
        let keys = said("{{ many }} key{{ many | pluralize }} of {{ who }}");
        let keys = keys.with("many", 2).with("who", said("nobody"));
        let time = "2026-05-03T14:05:00Z".parse::<DateTime<Utc>>().unwrap();
        let all = [keys, Said::Day(time.date_naive()), Said::Moment(time), Said::Percent(1_099.5)];
        let told = |catalogue: &Catalogue| {
            all.each_ref().map(|said| catalogue.say(&serde_json::to_value(said).unwrap()))
        };
        assert_eq!(
            told(&Catalogue::default()),
            ["2 keys of nobody", "3 May 2026", "3 May 2026, 14:05 UTC", "1,099.50%"]
        );
        assert_eq!(
            told(&german()),
            [
                "2 Schlüssel von niemand",
                "3. Mai 2026",
                "3. Mai 2026, 14:05 Uhr (UTC)",
                "1.099,50 %"
            ]
        );
    }

    #[test]
    fn names_stay_as_they_are() {
        assert_eq!(german().say(&json!("nobody")), "nobody");
        assert_eq!(german().say(&Value::Null), "");
    }
}
