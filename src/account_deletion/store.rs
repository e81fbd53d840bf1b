use sqlx::{PgConnection, query_scalar};

use crate::error::Result;
use crate::types::ids::AccountId;

pub struct Counted {
    pub receipts: i64,
    pub contacts: i64,
    pub suppressions: i64,
}

pub async fn count_stored(
    connection: &mut PgConnection,
    account_id: &AccountId,
    pixel_ids: &[String],
    most: i64,
) -> Result<Counted> {
    let receipts = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM (
             SELECT pixel_id FROM consent_receipts WHERE pixel_id = ANY($1) LIMIT $2) AS receipt",
        pixel_ids,
        most,
    )
    .fetch_one(&mut *connection)
    .await?;
    let contacts = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM (
             SELECT pixel_id FROM contacts WHERE pixel_id = ANY($1) LIMIT $2) AS contact",
        pixel_ids,
        most,
    )
    .fetch_one(&mut *connection)
    .await?;
    let suppressions = query_scalar!(
        "SELECT count(*) AS \"count!\" FROM (
             SELECT FROM suppressions WHERE account_id = $1 LIMIT $2) AS suppression",
        account_id.as_str(),
        most,
    )
    .fetch_one(connection)
    .await?;
    Ok(Counted { receipts, contacts, suppressions })
}
