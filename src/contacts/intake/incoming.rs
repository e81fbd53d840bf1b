use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::{Error, FieldError, Result, wrong_field};
use crate::types::hem::Hem;
use crate::types::ids::{PixelParam, VisitorId};
use crate::types::json::compact::compact;
use crate::types::json::shape;
use crate::types::seen_at::SeenAt;

/// Including items without a contact.
const MAX_ITEMS: usize = 1_000;
/// Maximum number of names that are compared with known fields to find misspellings.
const MOST_NAMES: usize = 50;
/// In bytes, as JSON without spaces.
const MAX_CONTACT: usize = 16 * 1024;
const EMPTY: &str = "{}";

/// The people to store, at most 1,000.
#[derive(Deserialize, ToSchema)]
pub struct ContactsRequest {
    // Unparsed, because value trees of a large request would take a hundred times its memory.
    #[schema(value_type = Vec<ResolvedPersonIn>, max_items = 1_000)]
    pub contacts: Vec<Box<RawValue>>,
}

/// As [`ContactsRequest`], with the pixel to store them on.
// Written out, because `serde(flatten)` would create a value tree.
#[derive(Deserialize, JsonSchema)]
pub struct StoreRequest {
    pub pixel_id: PixelParam,
    #[schemars(with = "Vec<ResolvedPersonIn>", length(max = 1_000))]
    pub contacts: Vec<Box<RawValue>>,
}

pub struct Item {
    pub index: usize,
    pub hem: Hem,
    pub seen_at: SeenAt,
    pub contact: String,
    pub visitor: Visitor,
}

impl Item {
    pub fn named(&self) -> Option<&str> {
        match &self.visitor {
            Visitor::Named(visitor_id) => Some(visitor_id.as_str()),
            Visitor::Unnamed | Visitor::Malformed => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Visitor {
    Unnamed,
    /// Not a visitor id, so there is no consent.
    Malformed,
    Named(VisitorId),
}

#[derive(Deserialize)]
struct RawItem<'a> {
    #[serde(borrow)]
    hem: Option<&'a RawValue>,
    #[serde(borrow)]
    seen_at: Option<&'a RawValue>,
    #[serde(borrow)]
    contact: Option<&'a RawValue>,
    #[serde(borrow)]
    visitor_id: Option<&'a RawValue>,
}

/// One item of a store. Items are read one by one, so that each mistake has its own sentence.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct ResolvedPersonIn {
    /// 64 hex digits of either case: the SHA-256 of the person's trimmed, lowercased email address.
    pub hem: Option<String>,
    /// When the person was seen, ISO 8601; UTC without an offset, now when empty.
    pub seen_at: Option<String>,
    /// What is known of the person, at most 16 KiB. Null or empty is a miss, which is skipped and
    /// not counted.
    pub contact: Option<Map<String, Value>>,
    /// The visitor, `visitor` of `window.assent.get()`. Their latest receipt must permit `resolution`,
    /// and the contact ends with their consent.
    pub visitor_id: Option<String>,
}

/// Takes the items by value, so that their texts are dropped before people are stored.
pub fn people_among(items: Vec<Box<RawValue>>, now: DateTime<Utc>) -> Result<Vec<Item>> {
    if items.len() > MAX_ITEMS {
        return Err(wrong_field("contacts", format!("must have at most {MAX_ITEMS} entries")));
    }
    let people = items.iter().enumerate().filter_map(|(index, item)| {
        let person = person(index, item, now);
        person.map_err(|wrong| wrong.in_entry(index, item)).transpose()
    });
    people.collect()
}

struct Wrong(Error, Option<&'static str>, String);

impl Wrong {
    fn new(error: Error, field: &'static str, msg: impl Into<String>) -> Self {
        Self(error, Some(field), msg.into())
    }

    fn by_name(field: &'static str) -> impl FnOnce(Error) -> Self {
        move |error| {
            let msg = error.to_string();
            Self(error, Some(field), msg)
        }
    }

    fn in_entry(self, index: usize, item: &RawValue) -> Error {
        let Self(error, field, msg) = self;
        let index = index.to_string();
        let entry = ["body", "contacts", &index];
        let loc = entry.into_iter().chain(field).collect::<Vec<_>>();
        let fields = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(item.get());
        let names = fields.unwrap_or_default().into_keys().take(MOST_NAMES).collect::<Vec<_>>();
        let misspelt = shape::misspelt::<ResolvedPersonIn>(&names, &entry);
        error.naming(vec![FieldError::new(&loc, msg, "value_error")]).naming(misspelt)
    }
}

fn person(index: usize, item: &RawValue, now: DateTime<Utc>) -> Result<Option<Item>, Wrong> {
    let not_object = || Wrong(Error::ContactEntryNotObject, None, "must be an object".to_owned());
    let object = Some(item.get()).filter(|text| text.starts_with('{')).ok_or_else(not_object)?;
    let item: RawItem<'_> = serde_json::from_str(object).map_err(|_| not_object())?;
    let contact = contact(item.contact)?;
    let (hem, seen_at) = (text(item.hem, "hem")?, text(item.seen_at, "seen_at")?);
    if contact == EMPTY {
        return Ok(None);
    }
    if contact.len() > MAX_CONTACT {
        let msg = format!("must have at most {MAX_CONTACT} bytes");
        return Err(Wrong::new(Error::InvalidRequest, "contact", msg));
    }
    let hem = Hem::parse(&hem).map_err(Wrong::by_name("hem"))?;
    let seen_at = SeenAt::parse(&seen_at, now).map_err(Wrong::by_name("seen_at"))?;
    Ok(Some(Item { index, hem, seen_at, contact, visitor: visitor(item.visitor_id) }))
}

/// An empty text is a malformed id, not a missing one: the sender wants the contact to depend on a consent.
fn visitor(value: Option<&RawValue>) -> Visitor {
    // Null has been mapped to `None` before.
    let Some(value) = value else { return Visitor::Unnamed };
    let id = serde_json::from_str::<String>(value.get()).ok();
    id.and_then(|id| VisitorId::parse(&id)).map_or(Visitor::Malformed, Visitor::Named)
}

/// Returns the contact object, empty when missing or null. Only spaces and escapes are changed,
/// because its numbers may exceed 64 bits.
fn contact(value: Option<&RawValue>) -> Result<String, Wrong> {
    let Some(value) = value else { return Ok(EMPTY.to_owned()) };
    let wrong = || Wrong::new(Error::ContactNotObject, "contact", "must be an object");
    let object = Some(value.get()).filter(|text| text.starts_with('{')).ok_or_else(wrong)?;
    compact(object).map_err(|_| wrong())
}

fn text(value: Option<&RawValue>, field: &'static str) -> Result<String, Wrong> {
    let Some(value) = value else { return Ok(String::new()) };
    let wrong = |_| Wrong::new(Error::InvalidRequest, field, "must be a string");
    serde_json::from_str(value.get()).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parsed as a value tree, as transports do to find errors.
    #[test]
    fn a_missing_pixel_is_named_whatever_the_contacts_are() {
        let sent = r#"{"contacts": [{"hem": "ab", "contact": {"a": [1]}}, 7]}"#;
        let tree = serde_json::from_str::<Map<String, Value>>(sent).unwrap();
        let wrong = shape::read_fields::<StoreRequest>(&tree, "arguments").err().unwrap();
        assert_eq!(wrong.loc, ["arguments", "pixel_id"]);
        assert_eq!(wrong.msg, "field required");
    }

    #[test]
    fn only_an_item_without_a_visitor_needs_no_consent() {
        let of = |visitor: &str| {
            let sent =
                format!(r#"{{"hem": "{}", "contact": {{"a": 1}}{visitor}}}"#, "ab".repeat(32));
            let items = vec![RawValue::from_string(sent).unwrap()];
            people_among(items, DateTime::UNIX_EPOCH).unwrap().remove(0).visitor
        };
        let named = |id: &str| Visitor::Named(VisitorId::from(id.to_owned()));
        for (visitor, expected) in [
            ("", Visitor::Unnamed),
            (r#", "visitor_id": null"#, Visitor::Unnamed),
            (r#", "visitor_id": "v-1""#, named("v-1")),
            (r#", "visitor_id": "\u0076-1""#, named("v-1")),
            (r#", "visitor_id": """#, Visitor::Malformed),
            (r#", "visitor_id": " ""#, Visitor::Malformed),
            (r#", "visitor_id": "a b""#, Visitor::Malformed),
            (r#", "visitor_id": 7"#, Visitor::Malformed),
            (r#", "visitor_id": ["v-1"]"#, Visitor::Malformed),
        ] {
            assert_eq!(of(visitor), expected, "{visitor}");
        }
    }
}
