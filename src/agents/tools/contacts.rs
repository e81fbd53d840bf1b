//! Storing, reading and erasing contacts.

use chrono::NaiveDate;
use futures_util::StreamExt;
use rmcp::handler::server::wrapper::Json;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Key, Parameters, ToolServer};
use crate::agents::outcome::Refusal;
use crate::contacts::contact::Hem;
use crate::contacts::erasure;
use crate::contacts::intake::{self, ContactsRequest, Stored};
use crate::contacts::reading::{self, Selection};
use crate::error::{Error, Result as Outcome};
use crate::http::body::present;
use crate::ids::PixelId;

/// Bytes of contacts in one answer: what an agent can make use of at all.
const MOST: usize = 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct ReadContacts {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// The UTC day on which people were resolved first, `YYYY-MM-DD`. Exactly one of `on` and
    /// `after`.
    #[schemars(with = "Option<NaiveDate>")]
    on: Option<String>,
    /// Read people with a greater id: at most 1,000, and at most 1 MiB of them. Start with 0, go on
    /// with `high_water` until there are none.
    #[schemars(range(min = 0))]
    after: Option<i64>,
    #[serde(flatten)]
    _key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct StoreContacts {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    #[serde(flatten)]
    people: ContactsRequest,
    #[serde(flatten)]
    _key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct EraseContact {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// The person's hashed email address, 64 hex digits.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{64}$"))]
    hem: String,
    #[serde(flatten)]
    _key: Key,
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
    contacts: Vec<ReadContact>,
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
    contact: serde_json::Map<String, serde_json::Value>,
}

/// A person who is not stored any more.
#[derive(Serialize, JsonSchema)]
struct ErasedContact {
    pixel_id: PixelId,
    erased: bool,
}

#[tool_router(router = contact_tools, vis = "pub(super)")]
impl ToolServer {
    /// Reads resolved people, by the day on which they were first resolved or from an id on.
    #[tool(annotations(title = "Read contacts", read_only_hint = true, open_world_hint = false))]
    async fn read_contacts(
        &self,
        call: Parameters<ReadContacts>,
    ) -> Result<Json<ReadPage>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let after = arguments.after.map(|after| after.to_string());
        let selection = Selection::parse(present(arguments.on.as_deref()), after.as_deref())?;
        let pieces = reading::read(&self.platform, &caller, &arguments.pixel_id, selection).await?;
        Ok(Json(match selection {
            Selection::On(_) => read_page(&in_one_piece(pieces, MOST).await?)?,
            Selection::After(_) => read_page(&in_one_piece(pieces, usize::MAX).await?)?.cut_short(),
        }))
    }

    /// Stores resolved people: new ones count against the month's allowance, known ones are
    /// updated and keep their id. All of them are stored, or on an error none.
    #[tool(annotations(
        title = "Store contacts",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn store_contacts(
        &self,
        call: Parameters<StoreContacts>,
    ) -> Result<Json<Stored>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.json()?;
        let people = arguments.people.check(self.platform.clock.now())?;
        let pixel_id = &arguments.pixel_id;
        let stored =
            intake::store_contacts(&self.platform, &self.turns, &caller, pixel_id, people).await?;
        Ok(Json(stored))
    }

    /// Erases what the pixel stores of a person who asks for it. Cannot be undone, and gives
    /// nothing back of the allowance.
    #[tool(annotations(
        title = "Erase a contact",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn erase_contact(
        &self,
        call: Parameters<EraseContact>,
    ) -> Result<Json<ErasedContact>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let hem = Hem::parse(&arguments.hem)?;
        let pixel_id = erasure::erase(&self.platform, &caller, &arguments.pixel_id, &hem).await?;
        Ok(Json(ErasedContact { pixel_id, erased: true }))
    }
}

/// The streamed answer of the HTTP API in one piece of at most so many bytes.
async fn in_one_piece(
    pieces: impl futures_util::Stream<Item = Vec<u8>>,
    most: usize,
) -> Outcome<Vec<u8>> {
    let mut pieces = std::pin::pin!(pieces);
    let mut page = Vec::new();
    while let Some(piece) = pieces.next().await {
        page.extend(piece);
        if page.len() > most {
            return Err(Error::TooManyContacts);
        }
    }
    Ok(page)
}

fn read_page(page: &[u8]) -> Outcome<ReadPage> {
    serde_json::from_slice(page).map_err(Error::internal)
}

impl ReadPage {
    /// As many contacts as an answer holds; the next page begins after the last of them.
    fn cut_short(mut self) -> Self {
        let mut size = 0;
        let fits = self.contacts.iter().take_while(|contact| {
            size += serde_json::to_vec(&contact.contact).map_or(0, |text| text.len());
            size <= MOST
        });
        let fitting = fits.count();
        if fitting < self.contacts.len() {
            self.contacts.truncate(fitting);
            self.high_water = self.contacts.last().map(|last| last.id);
        }
        self
    }
}
