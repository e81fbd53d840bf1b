//! The SQL that erases an account.

use sqlx::{PgConnection, query};

use crate::error::Result;
use crate::ids::AccountId;

/// How many rows of each kind went.
pub struct Erased {
    pub accounts: u64,
    pub api_keys: u64,
    /// Signup tokens, confirmation links and codes.
    pub proofs: u64,
}

/// Deletes an account with its credentials.
pub async fn delete_account_and_credentials(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Erased> {
    let id = account_id.as_str();
    let api_keys =
        query!("DELETE FROM api_keys WHERE account_id = $1", id).execute(&mut *connection).await?;
    let tokens = query!("DELETE FROM signup_tokens WHERE account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    let links = query!("DELETE FROM confirmation_links WHERE account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    let codes = query!("DELETE FROM confirmation_codes WHERE account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    let accounts =
        query!("DELETE FROM accounts WHERE account_id = $1", id).execute(connection).await?;
    Ok(Erased {
        accounts: accounts.rows_affected(),
        api_keys: api_keys.rows_affected(),
        proofs: tokens.rows_affected() + links.rows_affected() + codes.rows_affected(),
    })
}

/// Forgets when codes were sent to an address.
pub async fn delete_code_requests(
    connection: &mut PgConnection,
    address_hash: &[u8],
) -> Result<u64> {
    let deleted = query!("DELETE FROM code_requests WHERE address_hash = $1", address_hash)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}
