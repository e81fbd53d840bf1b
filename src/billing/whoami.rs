//! Who calls.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::{Caller, Plan, Status};
use crate::clock::Timestamp;
use crate::contacts::allowance::{self, Allowance};
use crate::error::Result;
use crate::ids::AccountId;
use crate::platform::Platform;

/// Who calls, and what the account's plan leaves it.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct WhoAmI {
    pub account_id: AccountId,
    pub plan: Plan,
    pub status: Status,
    /// The first 12 characters of the key that was sent.
    pub key_prefix: String,
    /// The end of the paid period; null while nothing was paid.
    #[schema(required = true)]
    pub paid_until: Option<Timestamp>,
    pub trial_ends_at: Timestamp,
    pub allowance: Allowance,
}

/// The holder of a key, as the account stands.
pub async fn who_am_i(platform: &Platform, caller: Caller) -> Result<WhoAmI> {
    let Caller { account, key_prefix } = caller;
    let mut connection = platform.pool.acquire().await?;
    let allowance = allowance::current(&mut connection, platform.clock.now(), &account).await?;
    Ok(WhoAmI {
        paid_until: account.paid_until.map(Timestamp),
        trial_ends_at: Timestamp(account.trial_ends_at),
        plan: account.plan,
        status: account.status,
        account_id: account.account_id,
        key_prefix,
        allowance,
    })
}
