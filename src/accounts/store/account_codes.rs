use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::accounts::codes::code_purpose::CodePurpose;
use crate::error::Result;

pub async fn upsert_account_code(
    connection: &mut PgConnection,
    asker_hash: &[u8],
    purpose: CodePurpose,
    code_hash: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<()> {
    query!(
        "INSERT INTO account_codes (asker_hash, purpose, code_hash, expires_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (asker_hash, purpose)
         DO UPDATE SET code_hash = $3, expires_at = $4, wrong_tries = 0",
        asker_hash,
        purpose.as_str(),
        code_hash,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub struct AccountCode {
    pub code_hash: Vec<u8>,
    pub expires_at: DateTime<Utc>,
    pub wrong_tries: i32,
}

/// Locks the holder's code until the transaction ends, so that guesses are counted one by one.
pub async fn lock_account_code(
    connection: &mut PgConnection,
    asker_hash: &[u8],
    purpose: CodePurpose,
) -> Result<Option<AccountCode>> {
    let code = query_as!(
        AccountCode,
        "SELECT code_hash, expires_at, wrong_tries FROM account_codes
         WHERE asker_hash = $1 AND purpose = $2 FOR UPDATE",
        asker_hash,
        purpose.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(code)
}

pub async fn update_account_code_tried(
    connection: &mut PgConnection,
    asker_hash: &[u8],
    purpose: CodePurpose,
) -> Result<()> {
    query!(
        "UPDATE account_codes SET wrong_tries = wrong_tries + 1
         WHERE asker_hash = $1 AND purpose = $2",
        asker_hash,
        purpose.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_account_code(
    connection: &mut PgConnection,
    asker_hash: &[u8],
    purpose: CodePurpose,
) -> Result<()> {
    query!(
        "DELETE FROM account_codes WHERE asker_hash = $1 AND purpose = $2",
        asker_hash,
        purpose.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_account_codes_of(
    connection: &mut PgConnection,
    asker_hashes: &[Vec<u8>],
) -> Result<()> {
    query!("DELETE FROM account_codes WHERE asker_hash = ANY($1)", asker_hashes)
        .execute(connection)
        .await?;
    Ok(())
}
