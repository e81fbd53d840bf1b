//! The account that the demo page works for.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::store::{self, NewAccount};
use crate::error::Result;
use crate::types::ids::AccountId;

/// The id of the account that the demo page works for. It belongs to nobody.
pub const DEMO_ACCOUNT: &str = "acc_demo";

/// The demo account's id.
pub fn account_id() -> AccountId {
    AccountId::from(DEMO_ACCOUNT.to_owned())
}

/// Opens the demo account unless it is there. It gets no key, and its address is none, so that
/// nobody can ask for a code and take it over.
pub async fn open(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    let account_id = account_id();
    let new = NewAccount::unlimited(&account_id, "demo", "Demo", now);
    store::insert_account_unless_there(connection, &new).await
}
