//! The SQL of recording and checking where tables are spread over several machines: the statements of
//! `recording` and `latest`, each for one pixel.
//!
//! A statement that names one pixel goes to one machine as it is, and what one machine commits is there
//! for all as soon as it has answered. One for many pixels would be taken apart on the way, could not
//! say what it left out, and would be committed on every machine at a time of its own: a withdrawal that
//! was acknowledged could be missing from the next check.

use std::collections::HashMap;

use chrono::NaiveDate;
use sqlx::{Connection, PgConnection, Postgres, QueryBuilder, query, query_scalar};
use uuid::Uuid;

use super::ends::with_end;
use super::latest::{LatestConsent, Question};
use super::recording::NewReceipt;
use super::rows::{in_places, receipt_of, select_receipt};
use crate::error::{Error, Result};
use crate::infra::events::EventRow;
use crate::infra::events::store::insert_events;
use crate::infra::postgres::kept_connection::LiveConnection;
use crate::receipts::receipt::SignedReceipt;
use crate::types::ids::{PixelId, VisitorId};

/// As [`insert_receipts`](super::recording::insert_receipts), for receipts of one pixel.
///
/// Whether it is still time is asked after the rows have their `seq`, and before they can be seen: one
/// that came too late takes the others along, and they are all sent again.
pub async fn insert_receipts(
    on: &mut LiveConnection,
    rows: &[impl AsRef<NewReceipt>],
) -> Result<usize> {
    let rows = rows.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let Some(first) = rows.first() else { return Ok(0) };
    let pixel_id = &first.signed.receipt.pixel_id;
    if rows.iter().any(|row| row.signed.receipt.pixel_id != *pixel_id) {
        // The tables have been spread a moment ago; whoever sends again comes with those of its pixel.
        return Err(Error::DatabaseUnavailable);
    }
    let clock = on.clock;
    let mut transaction = on.connection.begin().await?;
    if !is_recordable(&mut transaction, pixel_id).await? {
        transaction.rollback().await?;
        return Ok(0);
    }
    let log_batch = insert_leaves(&mut transaction, pixel_id, &rows).await?;
    let stored = insert_values(&mut transaction, &rows, log_batch).await?;
    let told = told_of(&rows, &stored);
    if !told.is_empty() {
        insert_events(&mut transaction, &told).await?;
    }
    let now =
        query_scalar!("SELECT clock_timestamp() AS \"now!\"").fetch_one(&mut *transaction).await?;
    if rows.iter().any(|row| now >= clock.at(row.deadline())) {
        transaction.rollback().await?;
        return Ok(0);
    }
    // Whatever is said of a commit that was cut off, it may have happened: nobody must write them again.
    transaction.commit().await.map_err(|error| {
        tracing::warn!(%error, "a commit has not been confirmed");
        Error::DatabaseUnavailable
    })?;
    Ok(stored.len())
}

/// Whether something may be recorded; who erases the pixel's account waits until the transaction ends.
async fn is_recordable(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
    let found = query_scalar!("SELECT recordable_pixels(ARRAY[$1::text])", pixel_id.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(found.is_some())
}

/// Inserts the leaves of the rows, and gives their number; `None` where there is no log.
async fn insert_leaves(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    rows: &[&NewReceipt],
) -> Result<Option<i64>> {
    let hashes = rows.iter().map(|row| Some(row.leaf.as_ref()?.hash));
    let Some(hashes) = hashes.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let batch = query_scalar!("SELECT nextval('log_batch_seq') AS \"batch!\"")
        .fetch_one(&mut *connection)
        .await?;
    query!(
        "INSERT INTO log_leaves (pixel_id, batch, hashes) VALUES ($1, $2, $3)",
        pixel_id.as_str(),
        batch,
        hashes.concat(),
    )
    .execute(connection)
    .await?;
    Ok(Some(batch))
}

/// Inserts the rows, and gives the `seq` of those that are new by their ids. A row per tuple, because
/// this form is sent on as it is; so the text depends on how many there are, and cannot be looked at
/// when the program is compiled.
async fn insert_values(
    connection: &mut PgConnection,
    rows: &[&NewReceipt],
    log_batch: Option<i64>,
) -> Result<HashMap<Uuid, i64>> {
    let mut statement = QueryBuilder::<Postgres>::new(
        "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id, expires_at, shown_language,
             shown_notice, shown_script, salt, log_batch) ",
    );
    statement.push_values(rows, |mut tuple, row| {
        let (receipt, shown) = (&row.signed.receipt, row.shown.as_ref());
        let purposes = receipt.purposes.iter().map(|purpose| purpose.as_str().to_owned());
        tuple
            .push_bind(receipt.pixel_id.as_str())
            .push_bind(receipt.receipt_id)
            .push_bind(receipt.visitor_id.as_str())
            .push_bind(receipt.origin.as_str())
            .push_bind(receipt.consent_state.as_str())
            .push_bind(receipt.policy_hash.as_str())
            .push_bind(purposes.collect::<Vec<_>>())
            .push_bind(receipt.recorded_at)
            .push_bind(&row.signed.signature[..])
            .push_bind(row.choice)
            .push_bind(row.expires_at)
            .push_bind(shown.map(|shown| shown.language.as_str()))
            .push_bind(shown.and_then(|shown| shown.notice.as_ref().map(|it| &it[..])))
            .push_bind(shown.and_then(|shown| shown.script.as_ref().map(|it| &it[..])))
            .push_bind(log_batch.and(row.leaf.as_ref()).map(|leaf| &leaf.salt[..]))
            .push_bind(log_batch);
    });
    statement.push(
        " ON CONFLICT (pixel_id, choice_id) WHERE choice_id IS NOT NULL DO NOTHING
         RETURNING receipt_id, seq",
    );
    let inserted = statement.build_query_as::<(Uuid, i64)>().persistent(false);
    let inserted = inserted.fetch_all(connection).await?;
    Ok(inserted.into_iter().collect())
}

/// What endpoints are told of the receipts that are new, with the place of each.
fn told_of(rows: &[&NewReceipt], stored: &HashMap<Uuid, i64>) -> Vec<EventRow> {
    let new = rows.iter().filter_map(|row| {
        let seq = stored.get(&row.signed.receipt.receipt_id)?;
        let subject = serde_json::json!({"seq": seq});
        Some(
            row.told
                .iter()
                .map(move |event| EventRow { subject: subject.clone(), ..event.clone() }),
        )
    });
    new.flatten().collect()
}

/// As [`list_stored`](super::recording::list_stored), for receipts of one pixel.
pub async fn list_stored(
    connection: &mut PgConnection,
    wanted: &[impl AsRef<NewReceipt>],
) -> Result<Vec<Option<Result<SignedReceipt>>>> {
    let rows = || wanted.iter().map(AsRef::as_ref);
    let Some(first) = rows().next() else { return Ok(Vec::new()) };
    let receipts = || rows().map(|row| &row.signed.receipt);
    let visitor_ids = receipts().map(|receipt| receipt.visitor_id.as_str()).collect::<Vec<_>>();
    let receipt_ids = receipts().map(|receipt| receipt.receipt_id).collect::<Vec<_>>();
    let choices = rows().map(|row| row.choice).collect::<Vec<_>>();
    let rows = select_receipt!(
        "position AS \"position!\"",
        "FROM unnest($2::text[], $3::uuid[], $4::uuid[]) WITH ORDINALITY
             AS job (visitor_id, receipt_id, choice_id, position)
         CROSS JOIN LATERAL (
             (SELECT * FROM consent_receipts AS named
              WHERE named.pixel_id = $1 AND named.choice_id = job.choice_id LIMIT 1)
             UNION ALL
             (SELECT * FROM consent_receipts AS nameless
              WHERE job.choice_id IS NULL AND nameless.pixel_id = $1
                  AND nameless.visitor_id = job.visitor_id
                  AND nameless.receipt_id = job.receipt_id
              ORDER BY seq DESC LIMIT 1)
         ) AS receipt",
        first.signed.receipt.pixel_id.as_str(),
        &visitor_ids as &[&str],
        &receipt_ids,
        &choices as &[Option<Uuid>],
    )
    .fetch_all(connection)
    .await?;
    let found = rows.into_iter().map(|row| (row.position, receipt_of!(row)));
    in_places(wanted.len(), found)
}

/// As [`insert_shown`](super::counts::insert_shown).
pub async fn insert_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    visitor_id: &VisitorId,
) -> Result<()> {
    let mut transaction = connection.begin().await?;
    if is_recordable(&mut transaction, pixel_id).await? {
        query!(
            "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id) VALUES ($1, $2, $3)
             ON CONFLICT (pixel_id, shown_on, visitor_id) DO NOTHING",
            pixel_id.as_str(),
            day,
            visitor_id.as_str(),
        )
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// A pixel as a question names it.
pub struct NamedPixel {
    pub pixel_id: PixelId,
    /// The popup is on and the owner is not suspended. Off for a deleted pixel.
    pub consent_in_force: bool,
}

/// The pixels of ids or aliases. What is neither stands for itself: a deleted pixel's receipts are found
/// by its id.
pub async fn list_named(
    connection: &mut PgConnection,
    names: &[&str],
) -> Result<HashMap<String, NamedPixel>> {
    let rows = query!(
        "SELECT name AS \"name!\", COALESCE(alias.pixel_id, name) AS \"pixel_id!: PixelId\",
             COALESCE(consent_enabled AND status <> 'suspended', false) AS \"consent_in_force!\"
         FROM unnest($1::text[]) AS question (name)
         LEFT JOIN pixel_aliases AS alias ON alias.alias = name
         LEFT JOIN pixels ON pixels.pixel_id = COALESCE(alias.pixel_id, name)
         LEFT JOIN accounts USING (account_id)",
        names as &[&str],
    )
    .fetch_all(connection)
    .await?;
    let named = rows.into_iter().map(|row| {
        let consent_in_force = row.consent_in_force;
        (row.name, NamedPixel { pixel_id: row.pixel_id, consent_in_force })
    });
    Ok(named.collect())
}

/// As [`list_named`], of one.
pub async fn find_named(connection: &mut PgConnection, name: &str) -> Result<NamedPixel> {
    let found = list_named(connection, &[name]).await?.remove(name);
    found.ok_or_else(|| Error::internal("every name stands for a pixel"))
}

/// A query for the latest receipt of each of the visitors `$2` at the pixel `$1`.
macro_rules! select_latest_of {
    ([$($end:literal),+], $($argument:expr),+) => {
        select_receipt!(
            "position AS \"position!\", receipt.seq AS \"seq!\",
                 CASE WHEN receipt.consent_state = 'accepted' THEN "
                $(+ $end)+
                + " END AS expires_at,
                 (SELECT policy.policy_hash FROM consent_policies AS policy
                  WHERE policy.pixel_id = $1 ORDER BY version DESC LIMIT 1)
                     AS current_policy_hash",
            "FROM unnest($2::text[]) WITH ORDINALITY AS question (visitor_id, position)
             CROSS JOIN LATERAL (
                 SELECT * FROM consent_receipts
                 WHERE pixel_id = $1 AND consent_receipts.visitor_id = question.visitor_id
                 ORDER BY seq DESC LIMIT 1
             ) AS receipt",
            $($argument),+
        )
    };
}

/// As [`list_latest`](super::latest::list_latest), for questions that name the same pixel.
pub async fn list_latest(
    connection: &mut PgConnection,
    pixel: &NamedPixel,
    questions: &[impl AsRef<Question>],
) -> Result<Vec<Option<Result<LatestConsent>>>> {
    let visitors = questions.iter().map(|asked| asked.as_ref().visitor_id.as_str());
    let visitors = visitors.collect::<Vec<_>>();
    let rows = with_end!(select_latest_of of "$1", pixel.pixel_id.as_str(), &visitors as &[&str])
        .fetch_all(connection)
        .await?;
    let found = rows.into_iter().map(|row| {
        let (position, seq, expires_at) = (row.position, row.seq, row.expires_at);
        let current_policy_hash = row.current_policy_hash;
        let latest = receipt_of!(row).map(|signed| LatestConsent {
            signed,
            seq,
            expires_at,
            consent_in_force: pixel.consent_in_force,
            current_policy_hash,
        });
        (position, latest)
    });
    in_places(questions.len(), found)
}
