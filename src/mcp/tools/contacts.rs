//! The tool `read_contacts`, whose answer is shorter than the HTTP API's.

use chrono::NaiveDate;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::arguments::USUAL_ROWS;
use super::declared::{Declared, handled};
use crate::contacts::reading::read_contacts::ReadContacts;
use crate::contacts::reading::selection::ReadRequest;
use crate::error::{Error, Result};
use crate::tool_calls::call::ToolCall;
use crate::tool_calls::tool_server::ToolServer;
use crate::types::ids::PixelParam;

/// Maximum bytes of contacts in an answer without a `limit`, to save space in the context of a model.
const USUAL_BYTES: usize = 12 * 1024;
/// Bytes of an entry besides the contact object: its `hem`, its time, its id.
const AROUND: usize = 130;
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct ReadArguments {
    pixel_id: PixelParam,
    /// The UTC day on which people were resolved first, `YYYY-MM-DD`. Exactly one of `on`, `after`
    /// and `changed_after`.
    #[schemars(with = "Option<NaiveDate>")]
    on: Option<String>,
    /// Read people with a greater id: 0 first, then `high_water` until there are none.
    #[schemars(range(min = 0))]
    after: Option<i64>,
    /// Read people stored or changed since: 0 first, then `changed_high_water`.
    #[schemars(range(min = 0))]
    changed_after: Option<i64>,
    /// People of one page; 25 when left out, fewer when they are large.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<i64>,
    /// With `on`: the `next_cursor` of the page before.
    cursor: Option<String>,
}

impl ReadArguments {
    fn request(self) -> ReadRequest {
        let Self { pixel_id, on, after, changed_after, limit, cursor } = self;
        ReadRequest {
            pixel_id,
            on,
            after: after.map(|after| after.to_string()),
            changed_after: changed_after.map(|after| after.to_string()),
            limit: Some(limit.unwrap_or(USUAL_ROWS).to_string()),
            cursor,
            format: None,
            address: None,
        }
    }

    /// Maximum bytes of contacts in the answer.
    fn room(&self) -> usize {
        if self.limit.is_some() { MOST_BYTES } else { USUAL_BYTES }
    }
}

/// A page of people, or a day of them.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ReadPage {
    pixel_id: String,
    /// The day that was asked for, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    /// The id that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<i64>,
    /// The last id of the page, or `after` when it is empty: the next `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    high_water: Option<i64>,
    /// The change that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_after: Option<i64>,
    /// The next `changed_after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_high_water: Option<i64>,
    contacts: Vec<ReadContact>,
    /// With `on`: the `cursor` of the next page; missing or null after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A resolved person.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ReadContact {
    /// Stays the same across updates.
    id: i64,
    /// The hashed email address, 64 hex digits.
    hem: String,
    /// When the person was resolved first, ISO 8601 in UTC.
    resolved_at: String,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    contact: Box<RawValue>,
    /// With `changed_after`: the place among the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visits: Option<i32>,
    /// Of a person stored with a `visitor_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<ReadConsent>,
}

/// The consent that a person's data depend on.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ReadConsent {
    visitor_id: String,
    receipt_id: String,
    permitted: bool,
    reason: String,
}

/// The tool `read_contacts`, whose answer is limited to a size that fits a model's context.
pub fn read_contacts() -> Declared {
    handled::<ReadContacts, ReadArguments, ReadPage>(|server, call| Box::pin(read(server, call)))
}

async fn read(server: &ToolServer, call: &ToolCall) -> Result<ReadPage> {
    let mut room = 0;
    let request = |arguments: ReadArguments| {
        room = arguments.room();
        arguments.request()
    };
    let written = server.ask::<ReadContacts, _>(call, request).await?;
    let page = written.pieces.concat().await;
    let page: ReadPage = serde_json::from_slice(&page).map_err(Error::internal)?;
    Ok(page.cut_short(room))
}

impl ReadPage {
    /// Shortens the page to `most` bytes, but at least one contact. The next page begins after the last one.
    fn cut_short(mut self, most: usize) -> Self {
        let mut size = 0;
        let fits = self.contacts.iter().take_while(|contact| {
            let is_first = size == 0;
            size += contact.contact.get().len() + AROUND;
            is_first || size <= most
        });
        let fitting = fits.count();
        if fitting < self.contacts.len() {
            self.contacts.truncate(fitting);
            let last = self.contacts.last();
            let (id, change) = (last.map(|last| last.id), last.and_then(|last| last.change));
            match (&self.on, self.changed_after) {
                (Some(_), _) => self.next_cursor = id.map(|id| id.to_string()),
                (None, Some(_)) => self.changed_high_water = change,
                (None, None) => self.high_water = id,
            }
        }
        self
    }
}
