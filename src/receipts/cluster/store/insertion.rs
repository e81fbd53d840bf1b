//! Inserts rows with allocated `seq` on the machine of their shard.

use std::collections::{BTreeMap, HashSet};

use sqlx::{Connection, PgConnection, Postgres, QueryBuilder};

use crate::consent_receipt::user_action::{Act, Seen};
use crate::error::{Error, Result};
use crate::receipts::record::new_receipt::NewReceipt;

/// Statements for up to this many rows stay prepared on the connection, which saves a round trip and repeated
/// parsing by the coordinator. For a longer statement the round trip matters less than the coordinator's memory.
const KEPT_FORMS: usize = 32;

/// A row with its `seq`, its position among all receipts.
pub struct NumberedReceipt<'a> {
    pub row: &'a NewReceipt,
    pub seq: i64,
    pub log_batch: Option<i64>,
}

impl NumberedReceipt<'_> {
    fn pixel_id(&self) -> &str {
        self.row.signed.receipt.pixel_id.as_str()
    }
}

/// Inserts the rows, with their leaves if there is a log, and returns the `seq` of new ones. Rows without
/// leaves are inserted by a single statement, which their machine commits alone.
pub async fn insert_numbered(
    connection: &mut PgConnection,
    numbered: &[NumberedReceipt<'_>],
) -> Result<HashSet<i64>> {
    let Some(batch) = numbered.first().and_then(|first| first.log_batch) else {
        return insert_values(connection, numbered).await.map_err(unconfirmed);
    };
    let mut transaction = connection.begin().await?;
    insert_leaves(&mut transaction, batch, numbered).await?;
    let stored = insert_values(&mut transaction, numbered).await?;
    transaction.commit().await.map_err(unconfirmed)?;
    Ok(stored)
}

/// The error classes after which nothing is committed (PostgreSQL's documentation, appendix A): data,
/// constraints, serialisation failures and deadlocks, statements, their size, locks, and errors raised by
/// triggers.
const REFUSED: [&str; 8] = ["22", "23", "40001", "40P01", "42", "54", "55P03", "P0"];

/// Converts an error. Unless PostgreSQL refused the content, the commit may have happened, so it must not be retried.
fn unconfirmed(error: sqlx::Error) -> Error {
    let code = error.as_database_error().and_then(|error| error.code());
    if code.is_some_and(|code| REFUSED.iter().any(|class| code.starts_with(class))) {
        return error.into();
    }
    tracing::warn!(%error, "a commit has not been confirmed");
    Error::DatabaseUnavailable
}

async fn insert_leaves(
    connection: &mut PgConnection,
    batch: i64,
    numbered: &[NumberedReceipt<'_>],
) -> Result<()> {
    let mut leaves = BTreeMap::<_, Vec<u8>>::new();
    for one in numbered {
        let hash = one.row.leaf.iter().flat_map(|leaf| leaf.hash);
        leaves.entry(one.pixel_id()).or_default().extend(hash);
    }
    let mut statement =
        QueryBuilder::<Postgres>::new("INSERT INTO log_leaves (pixel_id, batch, hashes) ");
    statement.push_values(leaves, |mut tuple, (pixel_id, hashes)| {
        tuple.push_bind(pixel_id).push_bind(batch).push_bind(hashes);
    });
    statement.build().persistent(false).execute(connection).await?;
    Ok(())
}

/// Inserts the rows, and returns the `seq` of new ones. The statement has one tuple per row, because this form
/// is forwarded unchanged; its text depends on the number of rows, so it cannot be checked at compile time. Two
/// machines parse every value, so columns that are empty in all rows are omitted.
async fn insert_values(
    connection: &mut PgConnection,
    numbered: &[NumberedReceipt<'_>],
) -> sqlx::Result<HashSet<i64>> {
    let any_is_shown = numbered.iter().any(|one| one.row.shown.is_some());
    let any_is_logged = numbered.iter().any(|one| one.log_batch.is_some());
    let mut statement = QueryBuilder::<Postgres>::new(
        "INSERT INTO consent_receipts (pixel_id, seq, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id, expires_at",
    );
    if any_is_shown {
        statement.push(
            ", shown_language, shown_notice, shown_script, shown_act, shown_seen, shown_automated",
        );
    }
    if any_is_logged {
        statement.push(", salt, log_batch");
    }
    statement.push(") ");
    statement.push_values(numbered, |mut tuple, NumberedReceipt { row, seq, log_batch }| {
        let (receipt, shown) = (&row.signed.receipt, row.shown.as_ref());
        let purposes = receipt.purposes.iter().map(|purpose| purpose.as_str().to_owned());
        tuple
            .push_bind(receipt.pixel_id.as_str())
            .push_bind(seq)
            .push_bind(receipt.receipt_id)
            .push_bind(receipt.visitor_id.as_str())
            .push_bind(receipt.origin.as_str())
            .push_bind(receipt.consent_state.as_str())
            .push_bind(receipt.policy_hash.as_str())
            .push_bind(purposes.collect::<Vec<_>>())
            .push_bind(receipt.recorded_at)
            .push_bind(&row.signed.signature[..])
            .push_bind(row.choice)
            .push_bind(row.expires_at);
        if any_is_shown {
            tuple
                .push_bind(shown.map(|shown| shown.language.as_str()))
                .push_bind(shown.and_then(|shown| shown.notice.as_ref().map(|it| &it[..])))
                .push_bind(shown.and_then(|shown| shown.script.as_ref().map(|it| &it[..])))
                .push_bind(shown.and_then(|shown| shown.action.act.map(Act::as_str)))
                .push_bind(shown.and_then(|shown| shown.action.seen.map(Seen::as_str)))
                .push_bind(shown.and_then(|shown| shown.action.automated));
        }
        if any_is_logged {
            tuple
                .push_bind(log_batch.and(row.leaf.as_ref()).map(|leaf| &leaf.salt[..]))
                .push_bind(log_batch);
        }
    });
    statement.push(
        " ON CONFLICT (pixel_id, choice_id) WHERE choice_id IS NOT NULL DO NOTHING RETURNING seq",
    );
    let is_kept = numbered.len() <= KEPT_FORMS;
    let inserted = statement.build_query_scalar::<i64>().persistent(is_kept);
    let inserted = inserted.fetch_all(connection).await?;
    Ok(inserted.into_iter().collect())
}
