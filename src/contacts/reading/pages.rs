use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::contacts::contact::Contact;
use crate::types::ids::PixelId;

/// A page of contacts, or a day of them.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[serde(untagged)]
pub enum Contacts {
    Page(ContactPage),
    OfDay(ContactsOfDay),
    Changed(ChangedContacts),
}

/// At most 1,000 contacts with an id greater than `after`, in order of their ids.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ContactPage {
    pub pixel_id: PixelId,
    /// As it was asked for.
    pub after: i64,
    /// The last id of the page, or `after` when the page is empty: the next `after`.
    pub high_water: i64,
    pub contacts: Vec<Contact>,
}

/// All contacts that were first seen on one UTC day, in order of their ids.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ContactsOfDay {
    pub pixel_id: PixelId,
    /// The day, `YYYY-MM-DD`.
    pub on: NaiveDate,
    pub contacts: Vec<Contact>,
    /// Only when a page was asked for: the `cursor` of the next one, null after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Option<String>>,
}

/// At most 1,000 contacts that were stored or changed after `changed_after`, in the order of their
/// last changes.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ChangedContacts {
    pub pixel_id: PixelId,
    /// As it was asked for.
    pub changed_after: i64,
    /// The last change of the page, or `changed_after` when the page is empty: the next
    /// `changed_after`.
    pub changed_high_water: i64,
    pub contacts: Vec<Contact>,
}
