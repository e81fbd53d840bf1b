//! Applies imported lists in chunks, on any node. Every step is one transaction, and only one step
//! runs at a time, so no list is applied twice and a crash leaves no partial step. Rows are locked
//! in the same order as when an account is erased: account, contacts, import.

use chrono::Duration;
use sqlx::{PgConnection, PgPool};

use super::entry::SuppressionSource;
use super::store::{self, Chunk, WaitingImport};
use crate::accounts::lock_account;
use crate::clock::Clock;
use crate::contacts::erasure::erase_from_account;
use crate::error::{Error, Result};
use crate::infra::Infra;

/// The delay after a failed step of a list. Other lists continue.
const AFTER_FAILURE: Duration = Duration::minutes(1);

pub async fn apply_all(infra: &Infra) -> Result<()> {
    while !infra.shutdown.has_begun() && apply_step(&infra.pool, &infra.clock).await? {}
    Ok(())
}

/// Applies the next step; `false` without one, or when another node is applying one.
async fn apply_step(pool: &PgPool, clock: &Clock) -> Result<bool> {
    let mut transaction = pool.begin().await?;
    if !store::take_lock(&mut transaction).await? {
        return Ok(false);
    }
    let now = clock.now();
    let Some(import) = store::find_waiting_import(&mut transaction, now).await? else {
        return Ok(false);
    };
    let step = take_step(&mut transaction, clock, &import).await;
    let import_id = import.import_id;
    let retry_at = match step {
        Ok(()) => None,
        Err(error) => {
            tracing::error!(?error, %import_id, "a list of suppressions waits after a failure");
            transaction.rollback().await?;
            transaction = pool.begin().await?;
            Some(now + AFTER_FAILURE)
        }
    };
    store::postpone(&mut transaction, import_id, retry_at).await?;
    transaction.commit().await?;
    Ok(true)
}

async fn take_step(
    connection: &mut PgConnection,
    clock: &Clock,
    import: &WaitingImport,
) -> Result<()> {
    match store::find_next_chunk(connection, import.import_id).await? {
        Some(chunk) if chunk.suppressed => erase(connection, import, &chunk).await,
        Some(chunk) => suppress(connection, clock, import, &chunk).await,
        None => {
            store::update_done(connection, import.import_id, clock.now()).await?;
            tracing::info!(import_id = %import.import_id, "a list of suppressions is applied");
            Ok(())
        }
    }
}

/// Locks the account only for this step, and not while contacts on its pixels are erased.
async fn suppress(
    connection: &mut PgConnection,
    clock: &Clock,
    import: &WaitingImport,
    chunk: &Chunk,
) -> Result<()> {
    let account_id = &import.account_id;
    // The import was deleted with the account.
    let Some(_) = lock_account(connection, account_id).await? else { return Ok(()) };
    let (source, now) = (SuppressionSource::Import, clock.now());
    let added =
        store::insert_suppressions(connection, account_id, &chunk.hems, source, now).await?;
    let added = i64::try_from(added).map_err(Error::internal)?;
    store::update_chunk_suppressed(connection, import.import_id, chunk.position, added).await
}

async fn erase(connection: &mut PgConnection, import: &WaitingImport, chunk: &Chunk) -> Result<()> {
    let erased = erase_from_account(connection, &import.account_id, &chunk.hems).await?;
    let erased = i64::try_from(erased).map_err(Error::internal)?;
    store::delete_chunk(connection, import.import_id, chunk, erased).await
}
