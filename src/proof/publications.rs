//! Noting what is published, so that it comes into the log.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::time::timeout;

use super::format::entry::Kind;
use super::format::hashes::Hash;
use super::store;
use crate::error::Result;
use crate::infra::Infra;

/// Visitors wait for no longer than this.
const PATIENCE: Duration = Duration::from_millis(500);

/// Notes a publication in the transaction that makes it. What was published before stays as it is.
pub async fn note(
    connection: &mut PgConnection,
    kind: Kind,
    sha256: &Hash,
    at: DateTime<Utc>,
) -> Result<()> {
    store::insert_publications(connection, kind, &[sha256.to_vec()], Some(at)).await
}

/// As [`note`], of many that were published at times which nobody noted.
pub async fn note_earlier(
    connection: &mut PgConnection,
    kind: Kind,
    hashes: &[Vec<u8>],
) -> Result<()> {
    store::insert_publications(connection, kind, hashes, None).await
}

/// As [`note`], of what is made for a visitor who waits: `false` when it could not be done soon.
pub async fn note_in_passing(infra: &Infra, kind: Kind, sha256: &Hash) -> bool {
    let noting = async {
        let mut connection = infra.pool.acquire().await?;
        note(&mut connection, kind, sha256, infra.clock.now()).await
    };
    match timeout(PATIENCE, noting).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, kind = kind.as_str(), "a publication could not be noted");
            false
        }
        Err(_) => false,
    }
}
