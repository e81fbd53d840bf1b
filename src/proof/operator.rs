use sqlx::PgPool;

use super::store::reported_files;
use crate::error::Result;

/// Forgets the reported files (`LOG_STATE`) after their loss. Nodes that still have theirs report
/// them again. Returns the number of forgotten files.
pub async fn forget_files(pool: &PgPool) -> Result<u64> {
    let mut connection = pool.acquire().await?;
    reported_files::delete_reported_files(&mut connection).await
}
