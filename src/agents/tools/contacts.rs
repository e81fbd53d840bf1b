//! Storing, reading and erasing contacts.

use futures_util::StreamExt;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Key, Sender, ToolServer};
use crate::agents::outcome::Refusal;
use crate::contacts::contact::Hem;
use crate::contacts::erasure;
use crate::contacts::intake::{self, ContactsRequest, Stored};
use crate::contacts::reading::{self, Selection};
use crate::error::{Error, Result as Outcome};
use crate::http::body::present;
use crate::ids::PixelId;

/// Bytes of contacts in one answer: what an agent can read at all.
const MOST: usize = 4 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct ReadContacts {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// The UTC day on which people were resolved first, `YYYY-MM-DD`. Exactly one of `on` and
    /// `after`.
    on: Option<String>,
    /// Read people with a greater id, at most 1,000. Start with 0, go on with `high_water`.
    after: Option<i64>,
    #[serde(flatten)]
    key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct StoreContacts {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    #[serde(flatten)]
    people: ContactsRequest,
    #[serde(flatten)]
    key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct EraseContact {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// The person's hashed email address, 64 hex digits.
    hem: String,
    #[serde(flatten)]
    key: Key,
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
        sender: Sender,
        Parameters(arguments): Parameters<ReadContacts>,
    ) -> Result<Json<ReadPage>, Refusal> {
        let caller = self.in_good_standing(&sender, &arguments.key).await?;
        let after = arguments.after.map(|after| after.to_string());
        let selection = Selection::parse(present(arguments.on.as_deref()), after.as_deref())?;
        let pieces = reading::read(&self.platform, &caller, &arguments.pixel_id, selection).await?;
        Ok(Json(whole_page(pieces).await?))
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
        sender: Sender,
        Parameters(arguments): Parameters<StoreContacts>,
    ) -> Result<Json<Stored>, Refusal> {
        let caller = self.in_good_standing(&sender, &arguments.key).await?;
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
        sender: Sender,
        Parameters(arguments): Parameters<EraseContact>,
    ) -> Result<Json<ErasedContact>, Refusal> {
        let caller = self.in_good_standing(&sender, &arguments.key).await?;
        let hem = Hem::parse(&arguments.hem)?;
        let pixel_id = erasure::erase(&self.platform, &caller, &arguments.pixel_id, &hem).await?;
        Ok(Json(ErasedContact { pixel_id, erased: true }))
    }
}

/// The streamed answer of the HTTP API in one piece.
async fn whole_page(pieces: impl futures_util::Stream<Item = Vec<u8>>) -> Outcome<ReadPage> {
    let mut pieces = std::pin::pin!(pieces);
    let mut page = Vec::new();
    while let Some(piece) = pieces.next().await {
        page.extend(piece);
        if page.len() > MOST {
            return Err(Error::TooManyContacts);
        }
    }
    serde_json::from_slice(&page).map_err(Error::internal)
}
