//! People as a spreadsheet: one column for each field.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use futures_util::stream::{self, StreamExt};
use serde_json::value::RawValue;

use super::Pieces;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::contacts::contact::Contact;
use crate::contacts::people::filter::{PeopleFilter, PeopleRequest};
use crate::contacts::people::listing::Listing;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::receipts::check::Reason;
use crate::receipts::days::wrong_order;
use crate::types::csv::{BROKEN_OFF, lines};
use crate::types::hem::Hem;
use crate::types::ids::PixelId;
use crate::types::ids::id_param::IdParam;
use crate::types::json::entries::Entries;

/// Makes spreadsheets read the file as UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const BATCH: usize = 100;
/// Further fields share the last column, as JSON.
const MAX_FIELDS: usize = 200;
/// The fields that most contacts have come first, in this order.
pub const USUAL: [&str; 9] =
    ["email", "name", "first_name", "last_name", "company", "phone", "city", "region", "country"];
const OWN: [&str; 4] = ["first seen (UTC)", "consent", "visitor id", "email hash"];
const OTHER: &str = "other fields (JSON)";

/// The people to export: those with these hashes, or without hashes all people of the list.
pub struct ExportRequest {
    pub people: PeopleRequest,
    pub hems: Vec<IdParam<Hem>>,
}

pub struct Spreadsheet {
    pub pixel_id: PixelId,
    /// The range of days that was requested.
    pub days: Option<(NaiveDate, NaiveDate)>,
    pub pieces: Pieces,
}

/// People in the order of their list. The console's only: the API has tables with fixed columns.
pub struct ExportSpreadsheet;

impl Capability for ExportSpreadsheet {
    const NAME: &'static str = "export_spreadsheet";
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = ExportRequest;
    type Output = Spreadsheet;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed, Error::PixelNotFound, wrong_order()]
    }

    /// The contacts are read twice, first for the names of their fields, so that only a batch is in memory.
    async fn run(infra: &Infra, caller: Caller, request: ExportRequest) -> Result<Spreadsheet> {
        let filter = PeopleFilter { after: None, ..request.people.filter()? };
        let hems = request.hems.iter().map(|hem| hem.into_id().ok_or(Error::HemMalformed));
        let hems = hems.collect::<Result<Vec<_>>>()?;
        let pixel_id = find_for(&infra.pool, &caller, &request.people.pixel_id).await?.pixel_id;
        let days = filter.from.zip(filter.to);
        let columns = Columns::of(open(infra, &pixel_id, &filter, &hems).await?).await?;
        let head = [BYTE_ORDER_MARK, &lines([columns.head()])?].concat();
        let listing = open(infra, &pixel_id, &filter, &hems).await?;
        let rest = stream::unfold(Some((listing, columns)), |state| async {
            let (mut listing, columns) = state?;
            let batch = listing.next(BATCH).await;
            match batch.and_then(|batch| batch.map(|it| columns.lines(&it)).transpose()) {
                Ok(piece) => piece.map(|piece| (piece, Some((listing, columns)))),
                Err(error) => {
                    tracing::error!(%error, pixel_id = %listing.pixel_id, "a spreadsheet broke off");
                    Some((BROKEN_OFF.to_vec(), None))
                }
            }
        });
        let pieces = stream::iter([head]).chain(rest).boxed();
        Ok(Spreadsheet { pixel_id, days, pieces })
    }
}

async fn open(
    infra: &Infra,
    pixel_id: &PixelId,
    filter: &PeopleFilter,
    hems: &[Hem],
) -> Result<Listing> {
    match hems {
        [] => Listing::open(infra, pixel_id, filter.clone()).await,
        hems => Listing::of_people(infra, pixel_id, hems).await,
    }
}

struct Columns(Vec<String>);

impl Columns {
    async fn of(mut listing: Listing) -> Result<Self> {
        let mut names = BTreeSet::new();
        while let Some(contacts) = listing.next(BATCH).await? {
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
                // Fields beyond `MAX_FIELDS`, and those that were stored while the table is written.
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
