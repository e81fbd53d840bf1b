//! An account and the states it can be in.

use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::credentials::account_of_signup_token;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::platform::Platform;
use crate::text_enum::text_enum;

/// Length of the trial that every account starts with.
pub const TRIAL: Duration = Duration::days(30);

text_enum! {
    /// How far an account has come: `pending_email` until its address is confirmed.
    #[schemars(rename = "AccountStatus")]
    #[schema(as = AccountStatus)]
    pub enum Status {
        PendingEmail = "pending_email",
        Active = "active",
        Suspended = "suspended",
    }
}

text_enum! {
    /// What an account pays for: `free` is the trial, `unlimited` is an operator's.
    pub enum Plan {
        Free = "free",
        Paid = "paid",
        Unlimited = "unlimited",
    }
}

/// A row of `accounts`, as far as the rules need it.
#[derive(Clone, Debug)]
pub struct Account {
    pub account_id: AccountId,
    pub email: String,
    pub display_name: String,
    pub external_user_id: Option<String>,
    pub status: Status,
    pub plan: Plan,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub trial_ends_at: DateTime<Utc>,
    pub paid_until: Option<DateTime<Utc>>,
}

impl Account {
    pub fn is_verified(&self) -> bool {
        self.email_verified_at.is_some()
    }
}

/// What an account's own signup token may see of it.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct AccountView {
    pub account_id: AccountId,
    pub status: Status,
    pub plan: Plan,
    /// Lowercase.
    pub email: String,
    /// Whether the address was confirmed by link or code.
    pub email_verified: bool,
}

/// An account, for the holder of its signup token.
pub async fn show(
    platform: &Platform,
    account_id: &str,
    signup_token: Option<&str>,
) -> Result<AccountView> {
    let account_id = AccountId::parse(account_id).ok_or(Error::SignupTokenRequired)?;
    let mut connection = platform.pool.acquire().await?;
    let now = platform.clock.now();
    let account = account_of_signup_token(&mut connection, now, &account_id, signup_token).await?;
    Ok(account.into())
}

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        Self {
            email_verified: account.is_verified(),
            account_id: account.account_id,
            status: account.status,
            plan: account.plan,
            email: account.email,
        }
    }
}
