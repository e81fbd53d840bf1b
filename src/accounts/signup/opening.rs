//! Opening a confirmed account for a person who has proven the address by other means than a sign-up.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::accounts::account::{Plan, Status, TRIAL};
use crate::accounts::store::{self, NewAccount};
use crate::error::Result;
use crate::types::ids::AccountId;

/// The address may have other accounts.
pub async fn open_confirmed(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    email: &str,
    display_name: &str,
) -> Result<()> {
    let signed_up = store::find_account_by_email(connection, email).await?;
    let new = NewAccount {
        account_id,
        email,
        display_name,
        external_user_id: None,
        external_user_id_vouched: false,
        referral_code: None,
        status: Status::Active,
        plan: Plan::Free,
        email_verified_at: Some(now),
        created_at: now,
        trial_ends_at: now + TRIAL,
        confirmation_mailed_at: None,
        shares_address: signed_up.is_some(),
    };
    store::insert_account(connection, &new).await
}
