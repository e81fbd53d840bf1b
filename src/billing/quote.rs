//! What an account pays a month.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::{Account, Plan};
use crate::contacts::allowance::{self, Allowance};
use crate::error::Result;
use crate::platform::Platform;

/// The subscription, in US cents per account and month.
pub const MONTHLY_CENTS: i64 = 100;
/// There is no setup fee.
pub const SETUP_CENTS: i64 = 0;
/// Contacts cost nothing each.
pub const CONTACT_CENTS: i64 = 0;

/// What the present month costs; amounts in US cents.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Quote {
    pub plan: Plan,
    /// New contacts stored in the present UTC calendar month.
    pub contact_count: i64,
    pub setup_cents: i64,
    /// Per contact.
    pub contact_cents: i64,
    /// For all contacts of the month.
    pub usage_cents: i64,
    /// Subscription and usage; zero for trial and unlimited plans.
    pub total_cents: i64,
    pub allowance: Allowance,
}

/// What the account's plan costs in the present month. Charges nothing.
pub async fn quote(platform: &Platform, account: &Account) -> Result<Quote> {
    let mut connection = platform.pool.acquire().await?;
    let now = platform.clock.now();
    let allowance = allowance::current(&mut connection, now, account).await?;
    let usage_cents = allowance.contacts_used * CONTACT_CENTS;
    let monthly_cents = match account.plan {
        Plan::Paid => MONTHLY_CENTS,
        Plan::Free | Plan::Unlimited => 0,
    };
    Ok(Quote {
        plan: account.plan,
        contact_count: allowance.contacts_used,
        setup_cents: SETUP_CENTS,
        contact_cents: CONTACT_CENTS,
        usage_cents,
        total_cents: monthly_cents + usage_cents,
        allowance,
    })
}
