use sqlx::{PgConnection, query_scalar};

use crate::error::{Error, Result};
use crate::types::ids::AccountId;

/// Counts how many of the pixels belong to the account.
pub async fn count_own_pixels(
    connection: &mut PgConnection,
    account_id: &AccountId,
    pixel_ids: &[String],
) -> Result<usize> {
    let count = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM pixels WHERE account_id = $1 AND pixel_id = ANY($2)",
        account_id.as_str(),
        pixel_ids,
    )
    .fetch_one(connection)
    .await?;
    usize::try_from(count).map_err(Error::internal)
}
