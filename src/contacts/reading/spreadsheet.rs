//! The contacts of a range of days as a spreadsheet: one column for each field.

use std::collections::{BTreeSet, VecDeque};

use chrono::NaiveDate;
use futures_util::stream::{self, StreamExt};
use serde_json::value::RawValue;
use sqlx::PgPool;

use super::Pieces;
use super::evaluation::Evaluation;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::contacts::contact::Contact;
use crate::contacts::counts::CountRequest;
use crate::contacts::store::reading as store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::receipts::check::Reason;
use crate::receipts::days::{DayRange, wrong_order};
use crate::types::csv::{BROKEN_OFF, lines};
use crate::types::ids::PixelId;
use crate::types::json::entries::Entries;

/// Makes spreadsheets read the file as UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const BATCH: i64 = 100;
/// Further fields share the last column, as JSON.
const MAX_FIELDS: usize = 200;
/// The fields that most tables have come first, in this order.
const USUAL: [&str; 9] =
    ["email", "name", "first_name", "last_name", "company", "phone", "city", "region", "country"];
const OWN: [&str; 4] = ["first seen (UTC)", "consent", "visitor id", "email hash"];
const OTHER: &str = "other fields (JSON)";

pub struct Spreadsheet {
    pub pixel_id: PixelId,
    pub range: DayRange,
    pub pieces: Pieces,
}

/// The contacts that were first seen in a range of days. The console's only: the API has tables with
/// fixed columns.
pub struct ExportSpreadsheet;

impl Capability for ExportSpreadsheet {
    const NAME: &'static str = "export_spreadsheet";
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = CountRequest;
    type Output = Spreadsheet;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_order()]
    }

    /// The contacts are read twice, first for the names of their fields, so that only a batch is in memory.
    async fn run(infra: &Infra, caller: Caller, request: CountRequest) -> Result<Spreadsheet> {
        let today = infra.clock.now().date_naive();
        let range = DayRange::parse(request.from.as_deref(), request.to.as_deref(), today)?;
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let columns = Columns::of(Walk::new(infra, &pixel_id, range)).await?;
        let head = [BYTE_ORDER_MARK, &lines([columns.head()])?].concat();
        let walk = Walk::new(infra, &pixel_id, range);
        let rest = stream::unfold(Some((walk, columns)), |state| async {
            let (mut walk, columns) = state?;
            match walk.next().await.and_then(|batch| batch.map(|it| columns.lines(&it)).transpose())
            {
                Ok(piece) => piece.map(|piece| (piece, Some((walk, columns)))),
                Err(error) => {
                    tracing::error!(%error, pixel_id = %walk.pixel_id, "a spreadsheet broke off");
                    Some((BROKEN_OFF.to_vec(), None))
                }
            }
        });
        let pieces = stream::iter([head]).chain(rest).boxed();
        Ok(Spreadsheet { pixel_id, range, pieces })
    }
}

/// Reads the contacts of some days batch by batch, without holding a connection between batches.
struct Walk {
    pool: PgPool,
    evaluation: Evaluation,
    pixel_id: PixelId,
    days: VecDeque<NaiveDate>,
    after: i64,
}

impl Walk {
    fn new(infra: &Infra, pixel_id: &PixelId, range: DayRange) -> Self {
        Self {
            pool: infra.read_pool.clone(),
            evaluation: Evaluation::of(infra, pixel_id),
            pixel_id: pixel_id.clone(),
            days: range.days().collect(),
            after: 0,
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<Contact>>> {
        while let Some(day) = self.days.front().copied() {
            let found = {
                let mut connection = self.pool.acquire().await?;
                let (pixel_id, after) = (&self.pixel_id, self.after);
                store::list_contacts_of_day(&mut connection, pixel_id, day, after, BATCH).await?
            };
            match found.last() {
                Some(last) => self.after = last.place,
                None => {
                    self.days.pop_front();
                    self.after = 0;
                    continue;
                }
            }
            let readable = self.evaluation.keep_readable(found).await?;
            if !readable.is_empty() {
                return Ok(Some(readable.into_iter().map(|found| found.contact).collect()));
            }
        }
        Ok(None)
    }
}

struct Columns(Vec<String>);

impl Columns {
    async fn of(mut walk: Walk) -> Result<Self> {
        let mut names = BTreeSet::new();
        while let Some(contacts) = walk.next().await? {
            for contact in &contacts {
                for (name, _) in entries_of(contact)?.0 {
                    if names.len() < MAX_FIELDS {
                        names.insert(name);
                    }
                }
            }
        }
        Ok(Self::ordered(names))
    }

    fn ordered(mut names: BTreeSet<String>) -> Self {
        let usual = USUAL.iter().filter_map(|name| names.take(*name)).collect::<Vec<_>>();
        Self(usual.into_iter().chain(names).collect())
    }

    fn head(&self) -> Vec<&str> {
        let fields = self.0.iter().map(String::as_str);
        fields.chain(OWN).chain([OTHER]).collect()
    }

    fn lines(&self, contacts: &[Contact]) -> Result<Vec<u8>> {
        let cells = contacts.iter().map(|contact| self.cells(contact));
        lines(cells.collect::<Result<Vec<_>>>()?)
    }

    fn cells(&self, contact: &Contact) -> Result<Vec<String>> {
        let (mut known, mut other) = (vec![String::new(); self.0.len()], serde_json::Map::new());
        for (name, value) in entries_of(contact)?.0 {
            match self.0.iter().position(|column| *column == name) {
                Some(at) => known[at] = text_of(&value),
                // Fields that were stored while the table is written.
                None => {
                    let value = serde_json::from_str(value.get()).map_err(Error::internal)?;
                    other.insert(name, value);
                }
            }
        }
        let visitor = contact.consent.as_ref().map(|consent| consent.visitor_id.to_string());
        known.extend([
            contact.resolved_at.clone(),
            consent_of(contact).to_owned(),
            visitor.unwrap_or_default(),
            contact.hem.to_hex(),
            if other.is_empty() {
                String::new()
            } else {
                serde_json::Value::from(other).to_string()
            },
        ]);
        Ok(known)
    }
}

fn entries_of(contact: &Contact) -> Result<Entries> {
    serde_json::from_str(contact.contact.get()).map_err(Error::internal)
}

/// Text as it is, nothing for null, other values as JSON.
fn text_of(value: &RawValue) -> String {
    match serde_json::from_str::<Option<String>>(value.get()) {
        Ok(text) => text.unwrap_or_default(),
        Err(_) => value.get().to_owned(),
    }
}

fn consent_of(contact: &Contact) -> &'static str {
    contact.consent.as_ref().map_or("", |consent| match consent.reason {
        Reason::Ok => "consented",
        Reason::PolicyVersionStale => "consented to an earlier notice",
        _ => "consented; the popup is off",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_fields_come_first_and_others_by_name() {
        let names = ["zip", "email", "age", "city"].map(str::to_owned).into();
        let head = Columns::ordered(names);
        assert_eq!(head.head()[..4], ["email", "city", "age", "zip"]);
    }
}
