use chrono::{DateTime, Duration, Utc};

use crate::types::ids::AccountId;
use crate::types::text_enum::text_enum;

pub const TRIAL: Duration = Duration::days(30);

/// The subscription, in US cents per account and month.
pub const MONTHLY_CENTS: i64 = 100;
pub const SETUP_CENTS: i64 = 0;
pub const CONTACT_CENTS: i64 = 0;
pub const PIXELS_INCLUDED: i64 = 3;
pub const CONTACTS_INCLUDED: i64 = 500;

/// The monthly price as text, such as "1 USD".
pub fn monthly_amount() -> String {
    match MONTHLY_CENTS % 100 {
        0 => format!("{} USD", MONTHLY_CENTS / 100),
        cents => format!("{}.{cents:02} USD", MONTHLY_CENTS / 100),
    }
}

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

#[derive(Clone, Debug)]
pub struct Account {
    pub account_id: AccountId,
    pub email: String,
    pub display_name: String,
    pub external_user_id: Option<String>,
    pub status: Status,
    pub plan: Plan,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub trial_ends_at: DateTime<Utc>,
    pub paid_until: Option<DateTime<Utc>>,
}

impl Account {
    pub fn is_verified(&self) -> bool {
        self.email_verified_at.is_some()
    }
}
