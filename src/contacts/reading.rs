//! Reading contacts back, by day or by cursor.
//!
//! Both are read in batches, each with a database connection of its own for as long as the query
//! takes, and written out batch by batch: neither a long day nor a slow reader holds memory or
//! connections.

use chrono::NaiveDate;
use futures_util::stream::{self, Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::contact::{Contact, parse_day};
use super::store;
use crate::accounts::Caller;
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::pixels;
use crate::platform::Platform;

/// Contacts of one cursor page.
const PAGE: i64 = 1_000;
/// Contacts read and written at once: at most 4 MiB.
const BATCH: i64 = 250;

/// Which contacts of a pixel to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Those first seen on this UTC day, all of them.
    On(NaiveDate),
    /// Those with a greater id, one page of them.
    After(i64),
}

impl Selection {
    /// Reads the query parameters `on` and `after`, of which exactly one must be there.
    pub fn parse(on: Option<&str>, after: Option<&str>) -> Result<Self> {
        match (on, after) {
            (None, None) => Err(Error::OnOrAfterMissing),
            (Some(_), Some(_)) => Err(Error::OnAndAfter),
            (Some(on), None) => parse_day(on).map(Self::On),
            (None, Some(after)) => {
                let is_number = after.bytes().all(|byte| byte.is_ascii_digit());
                let after = after.parse().ok().filter(|_| is_number);
                after.map(Self::After).ok_or(Error::AfterMalformed)
            }
        }
    }
}

/// A page of contacts, or a day of them.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[serde(untagged)]
pub enum Contacts {
    Page(ContactPage),
    OfDay(ContactsOfDay),
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
}

/// The contacts as one JSON object, in pieces. A failure before the first piece is an error; one
/// after it leaves the object without its end, by which readers know.
pub async fn read(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    selection: Selection,
) -> Result<impl Stream<Item = Vec<u8>> + Send + use<>> {
    let pixel = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    let mut reading = Reading::new(platform.read_pool.clone(), pixel.pixel_id, selection);
    let first = reading.next_piece().await?;
    let rest = stream::unfold(reading, |mut reading| async {
        let piece = reading.next_piece().await.unwrap_or_else(|error| {
            tracing::error!(%error, pixel_id = %reading.pixel_id, "reading contacts broke off");
            None
        });
        piece.map(|piece| (piece, reading))
    });
    Ok(stream::iter(first).chain(rest))
}

/// How far a reading has come.
struct Reading {
    pool: PgPool,
    pixel_id: PixelId,
    selection: Selection,
    /// The last id that was read, at first the one to start after.
    last_id: i64,
    /// Contacts that may still be read.
    left: i64,
    place: Place,
}

#[derive(PartialEq)]
enum Place {
    Head,
    Contacts,
    End,
}

impl Reading {
    fn new(pool: PgPool, pixel_id: PixelId, selection: Selection) -> Self {
        let (last_id, left) = match selection {
            Selection::On(_) => (0, i64::MAX),
            Selection::After(id) => (id, PAGE),
        };
        Self { pool, pixel_id, selection, last_id, left, place: Place::Head }
    }

    async fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        if self.place == Place::End {
            return Ok(None);
        }
        let asked = self.left.min(BATCH);
        let contacts = self.next_batch(asked).await?;
        let mut piece = Vec::new();
        if self.place == Place::Head {
            self.write_head(&mut piece)?;
        }
        for contact in &contacts {
            if self.place == Place::Contacts {
                piece.push(b',');
            }
            serde_json::to_writer(&mut piece, contact).map_err(Error::internal)?;
            self.place = Place::Contacts;
        }
        self.last_id = contacts.last().map_or(self.last_id, |contact| contact.id);
        let read = i64::try_from(contacts.len()).map_err(Error::internal)?;
        self.left -= read;
        if read < asked || self.left == 0 {
            self.write_tail(&mut piece)?;
            self.place = Place::End;
        }
        Ok(Some(piece))
    }

    async fn next_batch(&self, limit: i64) -> Result<Vec<Contact>> {
        let mut connection = self.pool.acquire().await?;
        let (pixel_id, after) = (&self.pixel_id, self.last_id);
        match self.selection {
            Selection::On(day) => {
                store::list_contacts_of_day(&mut connection, pixel_id, day, after, limit).await
            }
            Selection::After(_) => {
                store::list_contacts(&mut connection, pixel_id, after, limit).await
            }
        }
    }

    fn write_head(&self, piece: &mut Vec<u8>) -> Result<()> {
        piece.extend(b"{\"pixel_id\":");
        write_json(piece, &self.pixel_id)?;
        match self.selection {
            Selection::On(day) => {
                piece.extend(b",\"on\":");
                write_json(piece, &day)?;
            }
            Selection::After(after) => {
                piece.extend(b",\"after\":");
                write_json(piece, &after)?;
            }
        }
        piece.extend(b",\"contacts\":[");
        Ok(())
    }

    fn write_tail(&self, piece: &mut Vec<u8>) -> Result<()> {
        piece.push(b']');
        if let Selection::After(_) = self.selection {
            piece.extend(b",\"high_water\":");
            write_json(piece, &self.last_id)?;
        }
        piece.push(b'}');
        Ok(())
    }
}

fn write_json(piece: &mut Vec<u8>, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(piece, value).map_err(Error::internal)
}
