//! Conversion of messages to text in a language and a time zone.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::Deserialize;
use serde_json::Value;
use tera::{Context, Tera};

use super::catalogue::Catalogue;
use super::message::{KEY, Message};

/// Formats that catalogues translate like texts: dates, times, a list, and a number with its separators and its
/// percent sign. Names of months have the context [`MONTH`].
pub const DAY: &str = "%-d %B %Y";
pub const DAY_AND_MONTH: &str = "%-d %B";
pub const MINUTE: &str = "%-d %B %Y, %H:%M";
pub const SECOND: &str = "%-d %B %Y, %H:%M:%S";
pub const MOMENT: &str = "%-d %B %Y, %H:%M %Z";
pub const LIST: &str = "{{ first }}, {{ second }} and {{ last }}";
pub const NUMBER: &str = "1,234.5%";
pub const FORMS: [&str; 7] = [DAY, DAY_AND_MONTH, MINUTE, SECOND, MOMENT, LIST, NUMBER];
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

/// Registers a filter for templates that formats whole numbers for a language: `{{ count | number }}`.
pub fn register_number(tera: &mut Tera, catalogue: &'static Catalogue) {
    let localiser = Localiser { catalogue, time_zone: Tz::UTC };
    let written = move |value: &Value, _: &HashMap<String, Value>| {
        let number = value.as_i64().ok_or_else(|| tera::Error::msg("not a whole number"))?;
        Ok(Value::String(localiser.text(&Message::Number(number))))
    };
    tera.register_filter("number", written);
}

#[derive(Clone, Copy)]
pub struct Localiser<'a> {
    pub catalogue: &'a Catalogue,
    pub time_zone: Tz,
}

impl Localiser<'_> {
    /// Replaces all messages among the values of a template with their texts.
    pub fn localise(&self, value: &mut Value) {
        match value {
            Value::Object(fields) if fields.contains_key(KEY) => {
                if let Ok(message) = Message::deserialize(&*value) {
                    *value = Value::String(self.text(&message));
                }
            }
            Value::Object(fields) => fields.values_mut().for_each(|field| self.localise(field)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.localise(item)),
            _ => {}
        }
    }

    pub fn text(&self, message: &Message) -> String {
        match message {
            Message::Text(text, values) => self.filled(text, values),
            Message::Plain(text) => text.clone(),
            Message::Sentences(sentences) => self.texts(sentences).join(" "),
            Message::List(items) => self.list(self.texts(items)),
            Message::Day(day) => self.day(*day, DAY),
            Message::DayAndMonth(day) => self.day(*day, DAY_AND_MONTH),
            Message::Month(day) => self.month(*day).to_owned(),
            Message::DayOf(time) => self.day(self.local(*time).date_naive(), DAY),
            Message::Minute(time) => self.time(*time, MINUTE),
            Message::Second(time) => self.time(*time, SECOND),
            Message::Moment(time) => self.time(*time, MOMENT),
            Message::Number(number) => self.number(&number.to_string()),
            Message::Percent(percent) => self.percent(&format!("{percent:.2}")),
            Message::WholePercent(percent) => self.percent(&percent.to_string()),
        }
    }

    fn texts(&self, messages: &[Message]) -> Vec<String> {
        messages.iter().map(|message| self.text(message)).collect()
    }

    fn filled(&self, text: &str, values: &[(Cow<'static, str>, Value)]) -> String {
        let translation = self.catalogue.find(text).unwrap_or(text);
        if values.is_empty() {
            return translation.to_owned();
        }
        let mut context = Context::new();
        for (name, value) in values {
            let mut value = value.clone();
            self.localise(&mut value);
            context.insert(&**name, &value);
        }
        let filled = |text: &str| Tera::one_off(text, &context, false);
        filled(translation).or_else(|_| filled(text)).unwrap_or_else(|_| text.to_owned())
    }

    fn list(&self, mut items: Vec<String>) -> String {
        let Some(last) = items.pop() else { return String::new() };
        let (between, before_last) = self.parts_of_list();
        if items.is_empty() { last } else { format!("{}{before_last}{last}", items.join(between)) }
    }

    /// The separator between two items of a list, and the one before the last item.
    fn parts_of_list(&self) -> (&str, &str) {
        let form = self.form(LIST);
        let parts = form.split(['{', '}']).filter(|part| !part.is_empty());
        let mut between = parts.filter(|part| !["first", "second", "last"].contains(&part.trim()));
        (between.next().unwrap_or(", "), between.next().unwrap_or(", "))
    }

    fn local(&self, time: DateTime<Utc>) -> DateTime<Tz> {
        time.with_timezone(&self.time_zone)
    }

    fn time(&self, time: DateTime<Utc>, form: &str) -> String {
        let local = self.local(time);
        local.format(&self.day(local.date_naive(), form)).to_string()
    }

    /// A date in one of the formats. Placeholders for the time of day are kept.
    fn day(&self, day: NaiveDate, form: &str) -> String {
        self.form(form)
            .replace("%-d", &day.day().to_string())
            .replace("%B", self.month(day))
            .replace("%Y", &day.year().to_string())
    }

    fn month(&self, day: NaiveDate) -> &str {
        let month = MONTHS[day.month0() as usize];
        self.catalogue.find_in(MONTH, month).unwrap_or(month)
    }

    fn percent(&self, number: &str) -> String {
        self.number(number) + self.parts_of_number().2
    }

    /// A number in digits, with the separators of the language.
    fn number(&self, number: &str) -> String {
        let (thousands, decimals, _) = self.parts_of_number();
        let (sign, plain) = number.strip_prefix('-').map_or(("", number), |plain| ("-", plain));
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let mut text = sign.to_owned();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                text.push_str(thousands);
            }
            text.push(digit);
        }
        if !fraction.is_empty() {
            text.push_str(decimals);
            text.push_str(fraction);
        }
        text
    }

    /// The separators of thousands and of decimals, and the end of a percentage.
    fn parts_of_number(&self) -> (&str, &str, &str) {
        let form = self.form(NUMBER);
        let between = |start: char, end: char| {
            let rest = form.split_once(start).map_or("", |(_, rest)| rest);
            rest.split_once(end).map_or("", |(between, _)| between)
        };
        let percent = form.split_once('5').map_or("", |(_, percent)| percent);
        (between('1', '2'), between('4', '5'), percent)
    }

    fn form<'b>(&'b self, form: &'b str) -> &'b str {
        self.catalogue.find(form).unwrap_or(form)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::message::tr;
    use super::*;

    fn german() -> Catalogue {
        Catalogue::of(
            "msgid \"{{ many }} key{{ many | pluralize }} of {{ who }}\"\n\
             msgstr \"{{ many }} Schlüssel von {{ who }}\"\n\
             msgid \"nobody\"\nmsgstr \"niemand\"\n\
             msgid \"%-d %B %Y\"\nmsgstr \"%-d. %B %Y\"\n\
             msgid \"%-d %B %Y, %H:%M %Z\"\nmsgstr \"%-d. %B %Y, %H:%M Uhr (%Z)\"\n\
             msgid \"{{ first }}, {{ second }} and {{ last }}\"\n\
             msgstr \"{{ first }}, {{ second }} und {{ last }}\"\n\
             msgctxt \"month\"\nmsgid \"May\"\nmsgstr \"Mai\"\n\
             msgid \"1,234.5%\"\nmsgstr \"1.234,5 %\"\n",
        )
    }

    #[test]
    fn messages_are_texts_in_each_language_and_time_zone() {
        let keys = tr("{{ many }} key{{ many | pluralize }} of {{ who }}");
        let keys = keys.with("many", 2).with("who", tr("nobody"));
        let time = "2026-05-03T22:05:00Z".parse::<DateTime<Utc>>().unwrap();
        let list = ["a", "b", "c"].map(Message::plain).to_vec();
        let all = [
            keys,
            Message::Day(time.date_naive()),
            Message::DayOf(time),
            Message::Moment(time),
            Message::List(list),
            Message::Number(-12_345),
            Message::Percent(1_099.5),
            Message::WholePercent(40),
        ];
        let texts = |localiser: Localiser| all.each_ref().map(|message| localiser.text(message));
        let english = Catalogue::default();
        assert_eq!(
            texts(Localiser { catalogue: &english, time_zone: Tz::UTC }),
            [
                "2 keys of nobody",
                "3 May 2026",
                "3 May 2026",
                "3 May 2026, 22:05 UTC",
                "a, b and c",
                "-12,345",
                "1,099.50%",
                "40%"
            ]
        );
        assert_eq!(
            texts(Localiser { catalogue: &german(), time_zone: Tz::Europe__Berlin }),
            [
                "2 Schlüssel von niemand",
                "3. Mai 2026",
                "4. Mai 2026",
                "4. Mai 2026, 00:05 Uhr (CEST)",
                "a, b und c",
                "-12.345",
                "1.099,50 %",
                "40 %"
            ]
        );
    }

    #[test]
    fn messages_among_the_values_of_a_template_are_replaced_and_all_else_stays() {
        let mut values = json!({
            "name": "nobody", "rows": [{ "of": tr("nobody"), "many": 2 }, null], "text": ["x"],
        });
        Localiser { catalogue: &german(), time_zone: Tz::UTC }.localise(&mut values);
        let expected = json!({ "name": "nobody", "rows": [{ "of": "niemand", "many": 2 }, null], "text": ["x"] });
        assert_eq!(values, expected);
    }
}
