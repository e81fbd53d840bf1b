//! The SQL of contacts and of what counts against an allowance. Pixel ids come from pixels that
//! the caller was found to own (`pixels::pixel::find_for`).

use chrono::NaiveDate;
use serde_json::value::RawValue;
use sqlx::types::Json;
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::allowance::Coverage;
use super::contact::{Contact, Hem};
use super::intake::Person;
use super::pause::Standing;
use crate::error::Result;
use crate::ids::{AccountId, PixelId};

/// Those of `hems` that the pixel has.
pub async fn list_known_hems(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hems: &[Hem],
) -> Result<Vec<Hem>> {
    let known = query_scalar!(
        "SELECT hem AS \"hem: Hem\" FROM contacts WHERE pixel_id = $1 AND hem = ANY($2)",
        pixel_id.as_str(),
        hems as &[Hem],
    )
    .fetch_all(connection)
    .await?;
    Ok(known)
}

/// Inserts people with rising ids. The pixel's counter stays locked until the transaction ends,
/// so whoever sees an id sees every smaller one.
pub async fn insert_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    people: &[Person],
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let hems = people.iter().map(|person| person.hem).collect::<Vec<_>>();
    let times = people.iter().map(|person| person.seen_at.text.clone()).collect::<Vec<_>>();
    let days = people.iter().map(|person| person.seen_at.day).collect::<Vec<_>>();
    let contacts = people.iter().map(|person| person.contact.clone()).collect::<Vec<_>>();
    query!(
        "WITH counter AS (
             INSERT INTO contact_counters AS counter (pixel_id, last_id)
             VALUES ($1, cardinality($2::bytea[]))
             ON CONFLICT (pixel_id) DO UPDATE SET last_id = counter.last_id + excluded.last_id
             RETURNING last_id - cardinality($2::bytea[]) AS before
         )
         INSERT INTO contacts (pixel_id, id, hem, resolved_at, resolved_on, contact)
         SELECT $1, before + place, hem, resolved_at, resolved_on, contact::json
         FROM counter, unnest($2::bytea[], $3::text[], $4::date[], $5::text[])
             WITH ORDINALITY AS person (hem, resolved_at, resolved_on, contact, place)",
        pixel_id.as_str(),
        &hems as &[Hem],
        &times,
        &days,
        &contacts,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the contact objects of known people; id and first time stay.
pub async fn update_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    people: &[Person],
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let hems = people.iter().map(|person| person.hem).collect::<Vec<_>>();
    let contacts = people.iter().map(|person| person.contact.clone()).collect::<Vec<_>>();
    query!(
        "UPDATE contacts SET contact = person.contact::json
         FROM unnest($2::bytea[], $3::text[]) AS person (hem, contact)
         WHERE contacts.pixel_id = $1 AND contacts.hem = person.hem",
        pixel_id.as_str(),
        &hems as &[Hem],
        &contacts,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_contact(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: &Hem,
) -> Result<()> {
    query!(
        "DELETE FROM contacts WHERE pixel_id = $1 AND hem = $2",
        pixel_id.as_str(),
        hem as &Hem,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Contacts with an id greater than `after`, in id order.
pub async fn list_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    after: i64,
    limit: i64,
) -> Result<Vec<Contact>> {
    let contacts = query_as!(
        Contact,
        "SELECT id, hem AS \"hem: Hem\", resolved_at, contact AS \"contact: Json<Box<RawValue>>\"
         FROM contacts WHERE pixel_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        pixel_id.as_str(),
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(contacts)
}

/// As [`list_contacts`], of people first seen on a UTC day.
pub async fn list_contacts_of_day(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    after: i64,
    limit: i64,
) -> Result<Vec<Contact>> {
    let contacts = query_as!(
        Contact,
        "SELECT id, hem AS \"hem: Hem\", resolved_at, contact AS \"contact: Json<Box<RawValue>>\"
         FROM contacts WHERE pixel_id = $1 AND resolved_on = $2 AND id > $3
         ORDER BY resolved_on, id LIMIT $4",
        pixel_id.as_str(),
        day,
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(contacts)
}

/// New contacts of an account in a month, given by its first day.
pub async fn find_usage(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<i64> {
    let stored = query_scalar!(
        "SELECT stored FROM contact_usage WHERE account_id = $1 AND month = $2",
        account_id.as_str(),
        month,
    )
    .fetch_optional(connection)
    .await?;
    Ok(stored.unwrap_or_default())
}

pub async fn add_usage(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
    new: i64,
) -> Result<()> {
    query!(
        "INSERT INTO contact_usage AS usage (account_id, month, stored) VALUES ($1, $2, $3)
         ON CONFLICT (account_id, month) DO UPDATE SET stored = usage.stored + excluded.stored",
        account_id.as_str(),
        month,
        new,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// What decides whether an account's resolution is paused.
pub async fn find_standing(
    connection: &mut PgConnection,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<Option<Standing>> {
    let row = query!(
        "SELECT plan, trial_ends_at, paid_until, COALESCE(usage.stored, 0) AS \"used!\"
         FROM accounts LEFT JOIN contact_usage AS usage
             ON usage.account_id = accounts.account_id AND usage.month = $2
         WHERE accounts.account_id = $1",
        account_id.as_str(),
        month,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Standing {
        coverage: Coverage {
            plan: row.plan.into(),
            trial_ends_at: row.trial_ends_at,
            paid_until: row.paid_until,
        },
        used: row.used,
        month,
    }))
}
