//! Storing resolved people: what a caller may send, who is new, and what an update changes.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::allowance;
use super::contact::{Hem, SeenAt};
use super::store;
use super::turns::Turns;
use crate::accounts::Caller;
use crate::accounts::store::lock_account;
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::pixels;
use crate::pixels::store::lock_pixel;
use crate::platform::Platform;

/// Items of one request, misses included.
const MAX_ITEMS: usize = 1_000;
/// Bytes of one contact object as JSON without spaces.
const MAX_CONTACT: usize = 16 * 1024;

/// The people to store, at most 1,000.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct ContactsRequest {
    #[schemars(with = "Vec<ResolvedPersonIn>", length(max = 1_000))]
    #[schema(value_type = Vec<ResolvedPersonIn>, max_items = 1_000)]
    pub contacts: Vec<Value>,
}

/// One item of a store. Items are read one by one, so that each mistake has its own sentence.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct ResolvedPersonIn {
    /// 64 hex digits of either case: the person's hashed email address.
    pub hem: Option<String>,
    /// When the person was seen, ISO 8601; UTC without an offset, now when empty.
    pub seen_at: Option<String>,
    /// What is known of the person, at most 16 KiB. Null or empty is a miss, which is skipped and
    /// not counted.
    pub contact: Option<Map<String, Value>>,
}

/// A person to store.
pub struct Person {
    pub hem: Hem,
    pub seen_at: SeenAt,
    /// A JSON object, not empty.
    pub contact: String,
}

impl ContactsRequest {
    /// The people among the items. One without a contact is a miss and left out; of one that
    /// comes twice the first time and the last contact count.
    pub fn check(self, now: DateTime<Utc>) -> Result<Vec<Person>> {
        if self.contacts.len() > MAX_ITEMS {
            return Err(Error::InvalidRequest);
        }
        let mut people: Vec<Person> = Vec::with_capacity(self.contacts.len());
        let mut places = HashMap::<Hem, usize>::new();
        for item in &self.contacts {
            let Some(person) = person(item, now)? else { continue };
            match places.get(&person.hem) {
                Some(&place) => people[place].contact = person.contact,
                None => {
                    places.insert(person.hem, people.len());
                    people.push(person);
                }
            }
        }
        Ok(people)
    }
}

fn person(item: &Value, now: DateTime<Utc>) -> Result<Option<Person>> {
    let item = item.as_object().ok_or(Error::ContactEntryNotObject)?;
    let contact = match item.get("contact") {
        None | Some(Value::Null) => None,
        Some(Value::Object(contact)) => Some(contact).filter(|contact| !contact.is_empty()),
        Some(_) => return Err(Error::ContactNotObject),
    };
    let (hem, seen_at) = (text(item, "hem")?, text(item, "seen_at")?);
    let Some(contact) = contact else { return Ok(None) };
    let contact = serde_json::to_string(contact).map_err(Error::internal)?;
    if contact.len() > MAX_CONTACT {
        return Err(Error::InvalidRequest);
    }
    let (hem, seen_at) = (Hem::parse(hem)?, SeenAt::parse(seen_at, now)?);
    Ok(Some(Person { hem, seen_at, contact }))
}

/// The text of a field, empty when it is missing or null.
fn text<'a>(item: &'a Map<String, Value>, field: &str) -> Result<&'a str> {
    match item.get(field) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Error::InvalidRequest),
    }
}

/// The answer to a store.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Stored {
    pub pixel_id: PixelId,
    /// People written, updates included.
    pub stored: usize,
}

/// Stores people in one transaction: all of them, or on an error none.
///
/// New ones count against the allowance of the pixel's owner, whoever calls. The owner's row,
/// locked until the commit, puts everything that counts in one row; the pixel's row keeps the
/// pixel from being deleted meanwhile.
pub async fn store_contacts(
    platform: &Platform,
    turns: &Turns,
    caller: &Caller,
    pixel_id: &str,
    people: Vec<Person>,
) -> Result<Stored> {
    let pixel = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    let (pixel_id, stored) = (pixel.pixel_id, people.len());
    if people.is_empty() {
        return Ok(Stored { pixel_id, stored });
    }
    let _turn = turns.take(&pixel.account_id).await?;
    let mut transaction = platform.pool.begin().await?;
    let owner = lock_account(&mut transaction, &pixel.account_id).await?;
    let owner = owner.ok_or(Error::PixelNotFound)?;
    lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let (known, new) = split_known(&mut transaction, &pixel_id, people).await?;
    let count = i64::try_from(new.len()).map_err(Error::internal)?;
    let now = platform.clock.now();
    let spent = allowance::spend(&mut transaction, now, &owner, count).await?;
    store::update_contacts(&mut transaction, &pixel_id, &known).await?;
    store::insert_contacts(&mut transaction, &pixel_id, &new).await?;
    match spent.now_paused {
        true => platform.changes.commit(transaction).await?,
        false => transaction.commit().await?,
    }
    tracing::info!(%pixel_id, new = new.len(), updated = known.len(), "contacts stored");
    Ok(Stored { pixel_id, stored })
}

/// Those that the pixel has already, and those that are new, each in the order of the request.
async fn split_known(
    connection: &mut sqlx::PgConnection,
    pixel_id: &PixelId,
    people: Vec<Person>,
) -> Result<(Vec<Person>, Vec<Person>)> {
    let hems = people.iter().map(|person| person.hem).collect::<Vec<_>>();
    let known = store::list_known_hems(connection, pixel_id, &hems).await?;
    let known = known.into_iter().collect::<HashSet<_>>();
    Ok(people.into_iter().partition(|person| known.contains(&person.hem)))
}
