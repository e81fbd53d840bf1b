//! What the operator does with the log by commands.

use super::store::memories;
use crate::error::Result;
use crate::infra::Infra;

/// Forgets which files (`LOG_STATE`) have remembered the log: for when they were lost and the database was
/// not. Nodes that still have theirs report them again. How many were forgotten.
pub async fn forget_files(infra: &Infra) -> Result<u64> {
    let mut connection = infra.pool.acquire().await?;
    memories::delete_memories(&mut connection).await
}
