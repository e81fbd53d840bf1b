//! Ends everything that depends on a membership, in the same transaction: sessions, grants of apps,
//! mailed codes, and incomplete sign-ins. Keys stay, because they belong to the account. The caller
//! must hold the lock on the account's row.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::accounts::account::Account;
use crate::accounts::codes::account_codes::CodeHolder;
use crate::accounts::sessions::store as sessions;
use crate::accounts::sign_in::store as sign_ins;
use crate::accounts::store;
use crate::error::Result;

pub async fn end(
    connection: &mut PgConnection,
    account: &Account,
    address: &str,
    kept: Option<Uuid>,
) -> Result<()> {
    let account_id = &account.account_id;
    sessions::delete_sessions_of(connection, account_id, address, kept).await?;
    store::delete_grants_of(connection, account_id, address).await?;
    sign_ins::delete_into(connection, account_id, address).await?;
    end_codes(connection, account, address).await
}

/// Ends the codes mailed to a member. Codes requested with keys go to the account's address and end with it.
pub async fn end_codes(
    connection: &mut PgConnection,
    account: &Account,
    address: &str,
) -> Result<()> {
    let account_id = &account.account_id;
    let mut holders = vec![CodeHolder::of_member(account_id, address)];
    if account.email == address {
        holders.push(CodeHolder::of_account(account_id));
    }
    store::delete_account_codes_of(connection, &CodeHolder::hashes(&holders)).await
}

pub async fn end_all(connection: &mut PgConnection, account: &Account) -> Result<()> {
    let account_id = &account.account_id;
    end_since(connection, account, DateTime::UNIX_EPOCH).await?;
    sign_ins::delete_all_into(connection, account_id).await?;
    store::delete_address_change(connection, account_id).await?;
    Ok(())
}

/// Ends the sessions that were opened since a time, the grants given since then, and all codes of the
/// members. Returns the number of sessions.
pub async fn end_since(
    connection: &mut PgConnection,
    account: &Account,
    since: DateTime<Utc>,
) -> Result<u64> {
    let account_id = &account.account_id;
    end_codes(connection, account, &account.email).await?;
    for stored in store::list_members(connection, account_id).await? {
        end_codes(connection, account, &stored.email).await?;
    }
    store::delete_grants_since(connection, account_id, since).await?;
    sessions::delete_sessions_since(connection, account_id, since).await
}
