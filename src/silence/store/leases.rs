use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;

/// Takes the lease for watching sites until a time; `false` if another node holds it.
pub async fn take_lease(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<bool> {
    let taken =
        query!("UPDATE watch_turn SET taken_until = $2 WHERE taken_until <= $1", now, until,)
            .execute(connection)
            .await?;
    Ok(taken.rows_affected() == 1)
}

pub async fn end_lease(
    connection: &mut PgConnection,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    query!("UPDATE watch_turn SET taken_until = $2 WHERE taken_until = $1", until, now)
        .execute(connection)
        .await?;
    Ok(())
}

/// Whether a node has held the lease since this time.
pub async fn has_lease_since(connection: &mut PgConnection, since: DateTime<Utc>) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM watch_turn WHERE taken_until >= $1) AS \"is_recent!\"",
        since
    );
    Ok(found.fetch_one(connection).await?)
}
