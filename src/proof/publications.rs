use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use tokio::time::timeout;

use super::format::entry::Kind;
use super::format::hashes::Hash;
use super::store;
use crate::clock::Clock;
use crate::error::Result;

const TIMEOUT: Duration = Duration::from_millis(500);

/// Queues a publication in the transaction that makes it. Does nothing if it was published before.
pub async fn queue(
    connection: &mut PgConnection,
    kind: Kind,
    sha256: &Hash,
    at: DateTime<Utc>,
) -> Result<()> {
    queue_all(connection, kind, &[sha256.to_vec()], at).await
}

pub async fn queue_all(
    connection: &mut PgConnection,
    kind: Kind,
    hashes: &[Vec<u8>],
    at: DateTime<Utc>,
) -> Result<()> {
    store::insert_publications(connection, kind, hashes, Some(at)).await
}

/// Like [`queue_all`], for publications whose times are unknown.
pub async fn queue_earlier(
    connection: &mut PgConnection,
    kind: Kind,
    hashes: &[Vec<u8>],
) -> Result<()> {
    store::insert_publications(connection, kind, hashes, None).await
}

/// The numbers of entries, by the hashes of publications. Those that wait for the log are missing.
pub async fn find_entries(
    connection: &mut PgConnection,
    kind: Kind,
    hashes: &[Vec<u8>],
) -> Result<HashMap<Vec<u8>, i64>> {
    Ok(store::list_entries(connection, kind, hashes).await?.into_iter().collect())
}

/// Like [`queue`], while a visitor is waiting: `false` if it did not succeed in time.
pub async fn try_queue(pool: &PgPool, clock: &Clock, kind: Kind, sha256: &Hash) -> bool {
    let queueing = async {
        let mut connection = pool.acquire().await?;
        queue(&mut connection, kind, sha256, clock.now()).await
    };
    match timeout(TIMEOUT, queueing).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, kind = kind.as_str(), "a publication could not be recorded for the log");
            false
        }
        Err(_) => false,
    }
}
