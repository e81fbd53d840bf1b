//! What ends with a membership, in the transaction that ends it: sessions, codes that were mailed, and
//! sign-ins that wait for their digits. Whoever becomes a member again begins anew.
//!
//! Keys stay: they are the account's, whoever made them. Callers have locked the account's row.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::account::Account;
use super::account_codes::Asker;
use super::sessions::store as sessions;
use super::sign_in::store as sign_ins;
use super::store;
use crate::error::Result;

/// Ends what an address has of a membership in the account, but for one session.
pub async fn end(
    connection: &mut PgConnection,
    account: &Account,
    address: &str,
    kept: Option<Uuid>,
) -> Result<()> {
    let account_id = &account.account_id;
    sessions::delete_sessions_of(connection, account_id, address, kept).await?;
    sign_ins::delete_into(connection, account_id, address).await?;
    end_codes(connection, account, address).await
}

/// Ends the codes that were mailed to a member. Those that keys ask for go to the account's own address, and
/// end with it.
pub async fn end_codes(
    connection: &mut PgConnection,
    account: &Account,
    address: &str,
) -> Result<()> {
    let account_id = &account.account_id;
    let mut askers = vec![Asker::of_member(account_id, address)];
    if account.email == address {
        askers.push(Asker::of_account(account_id));
    }
    store::delete_account_codes_of(connection, &Asker::hashes(&askers)).await
}

/// Ends what all members of an account have, and a change of its address that waits.
pub async fn end_all(connection: &mut PgConnection, account: &Account) -> Result<()> {
    let account_id = &account.account_id;
    end_since(connection, account, DateTime::UNIX_EPOCH).await?;
    sign_ins::delete_all_into(connection, account_id).await?;
    store::delete_address_change(connection, account_id).await?;
    Ok(())
}

/// Ends the sessions of an account that were opened since, and all codes of its members. Says how many
/// sessions that were.
pub async fn end_since(
    connection: &mut PgConnection,
    account: &Account,
    since: DateTime<Utc>,
) -> Result<u64> {
    let account_id = &account.account_id;
    end_codes(connection, account, &account.email).await?;
    for seat in store::list_seats(connection, account_id).await? {
        end_codes(connection, account, &seat.email).await?;
    }
    sessions::delete_sessions_since(connection, account_id, since).await
}
