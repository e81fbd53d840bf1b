use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::types::ids::AccountId;

pub struct Row {
    pub address: String,
    pub language: Option<String>,
    pub time_zone: Option<String>,
}

pub async fn find_preferences(connection: &mut PgConnection, address: &str) -> Result<Option<Row>> {
    let row = query_as!(
        Row,
        "SELECT address, language, time_zone FROM person_preferences WHERE address = $1",
        address,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Lists the preferences of the members of an account, including its own address.
pub async fn list_preferences(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<Row>> {
    let rows = query_as!(
        Row,
        "SELECT address, language, time_zone FROM person_preferences
         WHERE address IN (SELECT email FROM accounts WHERE account_id = $1
             UNION ALL SELECT email FROM members WHERE account_id = $1)
         ORDER BY address",
        account_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn upsert_preferences(
    connection: &mut PgConnection,
    address: &str,
    language: Option<&str>,
    time_zone: Option<&str>,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO person_preferences (address, language, time_zone, changed_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (address) DO UPDATE
             SET language = excluded.language, time_zone = excluded.time_zone,
                 changed_at = excluded.changed_at",
        address,
        language,
        time_zone,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn upsert_language(
    connection: &mut PgConnection,
    address: &str,
    language: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO person_preferences (address, language, changed_at) VALUES ($1, $2, $3)
         ON CONFLICT (address) DO UPDATE
             SET language = excluded.language, changed_at = excluded.changed_at",
        address,
        language,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Copies the preferences of an address to another one that has none.
pub async fn insert_copy(connection: &mut PgConnection, from: &str, to: &str) -> Result<()> {
    query!(
        "INSERT INTO person_preferences (address, language, time_zone, changed_at)
         SELECT $2, language, time_zone, changed_at FROM person_preferences WHERE address = $1
         ON CONFLICT (address) DO NOTHING",
        from,
        to,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the preferences of people who are in no account any more.
pub async fn delete_unused(connection: &mut PgConnection) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM person_preferences AS unused
         WHERE NOT EXISTS (SELECT FROM accounts WHERE accounts.email = unused.address)
             AND NOT EXISTS (SELECT FROM members WHERE members.email = unused.address)",
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
