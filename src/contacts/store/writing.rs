use sqlx::{PgConnection, query, query_scalar};

use crate::contacts::contact::{Binding, Person};
use crate::error::{Error, Result};
use crate::types::hem::Hem;
use crate::types::ids::{AccountId, PixelId, VisitorId};

/// Takes a number of values from the pixel's counter, and returns the one before them. The counter stays
/// locked until the transaction ends, so a visible number implies that all smaller ones are visible.
pub async fn take_numbers(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    count: usize,
) -> Result<i64> {
    let count = i64::try_from(count).map_err(Error::internal)?;
    let before = query_scalar!(
        "INSERT INTO contact_counters AS counter (pixel_id, last_id) VALUES ($1, $2)
         ON CONFLICT (pixel_id) DO UPDATE SET last_id = counter.last_id + excluded.last_id
         RETURNING last_id - $2 AS \"before!\"",
        pixel_id.as_str(),
        count,
    )
    .fetch_one(connection)
    .await?;
    Ok(before)
}

pub async fn insert_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    before: i64,
    people: &[Person],
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let hems = people.iter().map(|person| person.hem).collect::<Vec<_>>();
    let times = people.iter().map(|person| person.seen_at.text.as_str()).collect::<Vec<_>>();
    let days = people.iter().map(|person| person.seen_at.day).collect::<Vec<_>>();
    let last = people.iter().map(|person| person.last_seen_at.as_str()).collect::<Vec<_>>();
    let contacts = people.iter().map(|person| person.contact.as_str()).collect::<Vec<_>>();
    let bound = Bound::of(people);
    query!(
        "INSERT INTO contacts (pixel_id, id, hem, resolved_at, resolved_on, last_seen_at, contact,
             visitor_id, receipt_id, bound_seq, judge_at)
         SELECT $1, $2 + place, hem, resolved_at, resolved_on, NULLIF(last_seen_at, resolved_at),
             contact::json, visitor_id, receipt_id, bound_seq, judge_at
         FROM unnest($3::bytea[], $4::text[], $5::date[], $6::text[], $7::text[], $8::text[],
             $9::uuid[], $10::bigint[], $11::timestamptz[]) WITH ORDINALITY
             AS person (hem, resolved_at, resolved_on, last_seen_at, contact, visitor_id,
             receipt_id, bound_seq, judge_at, place)",
        pixel_id.as_str(),
        before,
        &hems as &[Hem],
        &times as &[&str],
        &days,
        &last as &[&str],
        &contacts as &[&str],
        &bound.visitor_ids as &[Option<&str>],
        &bound.receipt_ids as &[Option<uuid::Uuid>],
        &bound.seqs as &[Option<i64>],
        &bound.judge_at as &[Option<chrono::DateTime<chrono::Utc>>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the contact objects of known people; id and first time stay. The first change has the
/// number after `before`. A new binding makes a contact visible again.
pub async fn update_contacts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    before: i64,
    ids: &[i64],
    people: &[Person],
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let last = people.iter().map(|person| person.last_seen_at.as_str()).collect::<Vec<_>>();
    let contacts = people.iter().map(|person| person.contact.as_str()).collect::<Vec<_>>();
    let bound = Bound::of(people);
    // With the `Z`, a time with a fraction would sort before the same second without one.
    query!(
        "UPDATE contacts
         SET contact = person.contact::json, change = $2 + person.place, visits = visits + 1,
             last_seen_at = GREATEST(
                 rtrim(COALESCE(contacts.last_seen_at, contacts.resolved_at), 'Z') COLLATE \"C\",
                 rtrim(person.last_seen_at, 'Z') COLLATE \"C\") || 'Z',
             visitor_id = COALESCE(person.visitor_id, contacts.visitor_id),
             receipt_id = COALESCE(person.receipt_id, contacts.receipt_id),
             bound_seq = COALESCE(person.bound_seq, contacts.bound_seq),
             judge_at = COALESCE(person.judge_at, contacts.judge_at),
             hidden_at = CASE WHEN person.visitor_id IS NULL THEN contacts.hidden_at END
         FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::bigint[],
             $9::timestamptz[]) WITH ORDINALITY
             AS person (id, last_seen_at, contact, visitor_id, receipt_id, bound_seq, judge_at,
             place)
         WHERE contacts.pixel_id = $1 AND contacts.id = person.id",
        pixel_id.as_str(),
        before,
        ids,
        &last as &[&str],
        &contacts as &[&str],
        &bound.visitor_ids as &[Option<&str>],
        &bound.receipt_ids as &[Option<uuid::Uuid>],
        &bound.seqs as &[Option<i64>],
        &bound.judge_at as &[Option<chrono::DateTime<chrono::Utc>>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

struct Bound<'a> {
    visitor_ids: Vec<Option<&'a str>>,
    receipt_ids: Vec<Option<uuid::Uuid>>,
    seqs: Vec<Option<i64>>,
    judge_at: Vec<Option<chrono::DateTime<chrono::Utc>>>,
}

impl<'a> Bound<'a> {
    fn of(people: &'a [Person]) -> Self {
        let bindings = || people.iter().map(|person| person.binding.as_ref());
        let part = |binding: Option<&'a Binding>| binding.map(|bound| bound.visitor_id.as_str());
        Self {
            visitor_ids: bindings().map(part).collect(),
            receipt_ids: bindings().map(|bound| bound.map(|bound| bound.receipt_id)).collect(),
            seqs: bindings().map(|bound| bound.map(|bound| bound.seq)).collect(),
            judge_at: bindings().map(|bound| bound.map(|bound| bound.judge_at)).collect(),
        }
    }
}

/// Deletes people from pixels, and returns the number of contacts. All deletions lock rows in the
/// same order. Records of withdrawals stay, without the person.
pub async fn delete_contacts(
    connection: &mut PgConnection,
    pixel_ids: &[String],
    hems: &[Hem],
) -> Result<u64> {
    let storing = query_scalar!(
        "SELECT DISTINCT pixel_id AS \"pixel_id: PixelId\" FROM contacts
         WHERE pixel_id = ANY($1) AND hem = ANY($2) ORDER BY pixel_id",
        pixel_ids,
        hems as &[Hem],
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut deleted = 0;
    for pixel_id in &storing {
        deleted += delete_contacts_of_pixel(connection, pixel_id, hems).await?;
    }
    Ok(deleted)
}

async fn delete_contacts_of_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hems: &[Hem],
) -> Result<u64> {
    let ids = query_scalar!(
        "SELECT id FROM contacts WHERE pixel_id = $1 AND hem = ANY($2) ORDER BY id FOR UPDATE",
        pixel_id.as_str(),
        hems as &[Hem],
    )
    .fetch_all(&mut *connection)
    .await?;
    delete_contacts_by_id(connection, pixel_id, &ids).await
}

/// Deletes contacts whose rows are locked, and returns their number.
pub async fn delete_contacts_by_id(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
) -> Result<u64> {
    query!(
        "DELETE FROM contact_visitors WHERE pixel_id = $1 AND contact_id = ANY($2)",
        pixel_id.as_str(),
        ids,
    )
    .execute(&mut *connection)
    .await?;
    let deleted = query!(
        "DELETE FROM contacts WHERE pixel_id = $1 AND id = ANY($2)",
        pixel_id.as_str(),
        ids,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn list_hems_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<Vec<Hem>> {
    let hems = query_scalar!(
        "SELECT hem AS \"hem: Hem\"
         FROM contact_visitors AS bound
         JOIN contacts ON contacts.pixel_id = bound.pixel_id AND contacts.id = bound.contact_id
         WHERE bound.pixel_id = $1 AND bound.visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(hems)
}

pub async fn list_visitors_of_hem(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<Vec<VisitorId>> {
    let visitors = query_scalar!(
        "SELECT bound.visitor_id AS \"visitor_id: VisitorId\"
         FROM contact_visitors AS bound
         JOIN contacts ON contacts.pixel_id = bound.pixel_id AND contacts.id = bound.contact_id
         WHERE bound.pixel_id = $1 AND contacts.hem = $2 ORDER BY 1",
        pixel_id.as_str(),
        hem as Hem,
    )
    .fetch_all(connection)
    .await?;
    Ok(visitors)
}

pub async fn count_contacts_of_hem(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<i64> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM contacts WHERE pixel_id = $1 AND hem = $2",
        pixel_id.as_str(),
        hem as Hem,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// The suppressed people among these. Without suppressions, nothing is searched.
pub async fn list_suppressed(
    connection: &mut PgConnection,
    owner: &AccountId,
    hems: &[Hem],
) -> Result<Vec<Hem>> {
    let suppressed = query_scalar!(
        "SELECT hem AS \"hem: Hem\" FROM suppressions
         WHERE account_id = $1 AND hem = ANY($2)
             AND EXISTS (SELECT FROM suppressions WHERE account_id = $1)",
        owner.as_str(),
        hems as &[Hem],
    )
    .fetch_all(connection)
    .await?;
    Ok(suppressed)
}

pub async fn insert_visitors(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    ids: &[i64],
    visitor_ids: &[&str],
) -> Result<()> {
    query!(
        "INSERT INTO contact_visitors (pixel_id, contact_id, visitor_id)
         SELECT $1, id, visitor_id FROM unnest($2::bigint[], $3::text[]) AS bound (id, visitor_id)
         ON CONFLICT (pixel_id, contact_id, visitor_id) DO NOTHING",
        pixel_id.as_str(),
        ids,
        visitor_ids as &[&str],
    )
    .execute(connection)
    .await?;
    Ok(())
}
