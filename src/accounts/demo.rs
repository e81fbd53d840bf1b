use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::store::{self, NewAccount};
use crate::error::Result;
use crate::types::ids::AccountId;

pub const DEMO_ACCOUNT: &str = "acc_demo";

pub fn account_id() -> AccountId {
    AccountId::from(DEMO_ACCOUNT.to_owned())
}

/// Creates the demo account unless it exists. It has no key and no valid address, so nobody can take it over.
pub async fn open(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    let account_id = account_id();
    let new = NewAccount::unlimited(&account_id, "demo", "Demo", now);
    store::insert_account_unless_there(connection, &new).await
}
