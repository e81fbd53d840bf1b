use super::store::memories;
use crate::error::Result;
use crate::infra::Infra;

/// Forgets the reported files (`LOG_STATE`) after their loss. Nodes that still have theirs report
/// them again. Returns the number of forgotten files.
pub async fn forget_files(infra: &Infra) -> Result<u64> {
    let mut connection = infra.pool.acquire().await?;
    memories::delete_memories(&mut connection).await
}
