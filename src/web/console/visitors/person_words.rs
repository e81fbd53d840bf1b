use serde::Deserialize;
use serde_json::{Value, json};

use crate::contacts::contact::Contact;
use crate::error::{Error, Result};
use crate::types::json::entries::Entries;

/// A contact in the format of the API.
#[derive(Deserialize)]
pub struct Person {
    hem: String,
    resolved_at: String,
    contact: Entries,
    #[serde(default)]
    pub consent: Value,
}

pub fn row(person: &Person) -> Value {
    let details = person.contact.0.iter().map(|(name, value)| {
        let text = serde_json::from_str::<String>(value.get());
        json!({"name": name, "text": text.unwrap_or_else(|_| value.get().to_owned())})
    });
    let seen = &*person.resolved_at;
    json!({
        "hem": person.hem,
        "seen": seen.get(..16).unwrap_or(seen).replace('T', ", "),
        "details": details.collect::<Vec<_>>(),
        "consent": consent_of(&person.consent),
        "visitor_id": person.consent["visitor_id"],
        "receipt_id": person.consent["receipt_id"],
    })
}

pub fn person_of(contact: &Contact) -> Result<Person> {
    let text = serde_json::to_vec(contact).map_err(Error::internal)?;
    serde_json::from_slice(&text).map_err(Error::internal)
}

fn consent_of(consent: &Value) -> &'static str {
    match consent["reason"].as_str() {
        None => "stored without a visitor",
        Some("ok") => "agreed",
        Some("policy_version_stale") => "agreed to an earlier notice",
        Some("consent_off") => "agreed; the popup is off",
        Some(_) => "not agreed",
    }
}
