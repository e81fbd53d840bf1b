use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::contacts::contact::Contact;
use crate::contacts::reading::spreadsheet::USUAL;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::types::json::entries::Entries;
use crate::types::text::capital;

/// A contact in the format of the API.
#[derive(Deserialize)]
pub struct Person {
    hem: String,
    resolved_at: String,
    #[serde(default)]
    last_seen_at: Option<String>,
    contact: Entries,
    #[serde(default)]
    pub consent: Value,
}

impl Person {
    /// A field that is not blank.
    fn field(&self, name: &str) -> Option<String> {
        let (_, value) = self.contact.0.iter().find(|(known, _)| known == name)?;
        text_of(value)
    }

    /// The name, composed of its parts if necessary, or else the email address, or else the beginning of the HEM.
    pub fn title(&self) -> String {
        let parts = ["first_name", "last_name"].iter().filter_map(|name| self.field(name));
        let composed = parts.collect::<Vec<_>>().join(" ");
        let name = self.field("name").or(Some(composed).filter(|name| !name.is_empty()));
        let title = name.or_else(|| self.field("email"));
        title.unwrap_or_else(|| beginning_of(&self.hem))
    }

    /// The fields that are not blank: the usual ones, then the others in the order in which they were stored.
    fn details(&self) -> Vec<Value> {
        let rank = |name: &str| USUAL.iter().position(|usual| *usual == name);
        let mut fields = self.contact.0.iter().collect::<Vec<_>>();
        fields.sort_by_key(|(name, _)| rank(name).unwrap_or(USUAL.len()));
        let fields = fields.into_iter().filter_map(|(name, value)| {
            text_of(value).map(|text| json!({"name": label(name), "text": text}))
        });
        fields.collect()
    }
}

/// The beginning of a HEM, long enough to distinguish the people of a site.
pub fn beginning_of(hem: &str) -> String {
    hem.chars().take(12).collect()
}

pub fn row(person: &Person) -> Value {
    let title = person.title();
    let last = person.last_seen_at.as_deref().unwrap_or(&person.resolved_at);
    json!({
        "hem": person.hem,
        "title": title,
        "email": person.field("email").filter(|email| *email != title),
        "company": person.field("company"),
        "first": day_of(&person.resolved_at),
        "last": day_of(last),
        "seen": moment_of(&person.resolved_at),
        "details": person.details(),
        "consent": consent_of(&person.consent),
        "visitor_id": person.consent["visitor_id"],
        "receipt_id": person.consent["receipt_id"],
    })
}

pub fn rows(contacts: &[Contact]) -> Result<Vec<Value>> {
    contacts.iter().map(|contact| Ok(row(&person_of(contact)?))).collect()
}

pub fn person_of(contact: &Contact) -> Result<Person> {
    let text = serde_json::to_vec(contact).map_err(Error::internal)?;
    serde_json::from_slice(&text).map_err(Error::internal)
}

/// A text without spaces around it, or another value as JSON; `None` for null and blank texts.
fn text_of(value: &RawValue) -> Option<String> {
    let text = match serde_json::from_str::<Option<String>>(value.get()) {
        Ok(text) => text?,
        Err(_) => value.get().to_owned(),
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The label of a field; an unknown one such as `job_title` becomes "Job title".
fn label(name: &str) -> Message {
    match name {
        "email" => tr("Email"),
        "name" => tr("Name"),
        "first_name" => tr("First name"),
        "last_name" => tr("Last name"),
        "company" => tr("Company"),
        "phone" => tr("Phone"),
        "city" => tr("City"),
        "region" => tr("Region"),
        "country" => tr("Country"),
        other => Message::Plain(capital(&other.replace(['_', '-'], " "))),
    }
}

/// The day in UTC, because the filter of the list uses UTC days.
fn day_of(time: &str) -> Message {
    shown(time, |time| Message::Day(time.date_naive()))
}

fn moment_of(time: &str) -> Message {
    shown(time, Message::Minute)
}

/// Formats a time of a [`Contact`]; text that is not a time stays as it is.
fn shown(time: &str, form: impl Fn(DateTime<Utc>) -> Message) -> Message {
    time.parse::<DateTime<Utc>>().map_or_else(|_| Message::plain(time), form)
}

fn consent_of(consent: &Value) -> Message {
    match consent["reason"].as_str() {
        None => tr("stored without a visitor"),
        Some("ok") => tr("consented"),
        Some("policy_version_stale") => tr("consented to an earlier notice"),
        Some("consent_off") => tr("consented; the popup is off"),
        Some(_) => tr("not consented"),
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;
    use crate::infra::templates::language;

    fn row_of(contact: &Value) -> Value {
        let person = json!({
            "hem": "ab".repeat(32), "resolved_at": "2026-12-10T08:05:00.5Z", "contact": contact,
        });
        let mut row = row(&serde_json::from_str(&person.to_string()).unwrap());
        language::english().localiser(Tz::UTC).localise(&mut row);
        row
    }

    #[test]
    fn a_person_has_a_name_and_labelled_fields_in_order_without_blank_ones() {
        let person = row_of(&json!({
            "job_title": "Baker", "email": "ann@a.example", "last_name": "Lee", "first_name": " Ann ",
            "company": null, "city": "  ", "seats": 3,
        }));
        assert_eq!(person["title"], "Ann Lee");
        assert_eq!(person["email"], "ann@a.example");
        assert_eq!(person["company"], Value::Null);
        assert_eq!(
            [&person["first"], &person["seen"]],
            ["10 December 2026", "10 December 2026, 08:05"]
        );
        let details = person["details"].as_array().unwrap().iter();
        let names = details.map(|detail| detail["name"].as_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(names[..3], ["Email", "First name", "Last name"]);
        assert_eq!(names.len(), 5);
    }

    #[test]
    fn without_a_name_the_address_or_the_hash_is_the_title() {
        let person = row_of(&json!({"email": "ann@a.example"}));
        assert_eq!((&person["title"], &person["email"]), (&json!("ann@a.example"), &Value::Null));
        assert_eq!(row_of(&json!({"seats": 3}))["title"], "abababababab");
    }
}
