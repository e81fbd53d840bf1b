//! The account that the demo page works for.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::DEMO_ACCOUNT;
use super::account::{Plan, Status, TRIAL};
use super::store::{self, NewAccount};
use crate::error::Result;
use crate::ids::AccountId;

/// The demo account's id.
pub fn account_id() -> AccountId {
    AccountId::from(DEMO_ACCOUNT.to_owned())
}

/// Opens the demo account unless it is there. It gets no key, and its address is none, so that
/// nobody can ask for a code and take it over.
pub async fn open(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    let new = NewAccount {
        account_id: &account_id(),
        email: "demo",
        display_name: "Demo",
        external_user_id: None,
        referral_code: None,
        status: Status::Active,
        plan: Plan::Unlimited,
        email_verified_at: Some(now),
        created_at: now,
        trial_ends_at: now + TRIAL,
        confirmation_mailed_at: None,
    };
    store::insert_account_unless_there(connection, &new).await
}
