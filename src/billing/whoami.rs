use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::access::{AnyKey, Caller};
use crate::accounts::account::{Plan, Status};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Reads, Scope};
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::contacts::allowance::{self, Allowance};
use crate::error::Result;
use crate::infra::Infra;
use crate::types::ids::AccountId;

/// Who calls, and what the account's plan leaves it.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct WhoAmI {
    pub account_id: AccountId,
    pub plan: Plan,
    pub status: Status,
    /// The first 12 characters of the key that was sent.
    pub key_prefix: String,
    /// What the key may ask for.
    pub key_scope: Scope,
    /// The end of the paid period; null while nothing was paid.
    #[schema(required = true)]
    pub paid_until: Option<Timestamp>,
    pub trial_ends_at: Timestamp,
    pub allowance: Allowance,
}

/// The holder of a key, as the account stands.
pub struct ShowCaller;

impl Capability for ShowCaller {
    const NAME: &'static str = "whoami";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show the caller",
        "Tells whose key it is: account, plan, status, how long it is paid for, and what is \
         left of the month's allowance.",
    ));
    type Service = Infra;
    type Access = AnyKey<Reads>;
    type Input = NoInput;
    type Output = WhoAmI;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<WhoAmI> {
        let Caller { account, actor, scope, .. } = caller;
        let mut connection = infra.pool.acquire().await?;
        let allowance = allowance::current(&mut connection, infra.clock.now(), &account).await?;
        Ok(WhoAmI {
            paid_until: account.paid_until.map(Timestamp),
            trial_ends_at: Timestamp(account.trial_ends_at),
            plan: account.plan,
            status: account.status,
            account_id: account.account_id,
            key_prefix: actor.key_prefix().unwrap_or_default().to_owned(),
            key_scope: scope,
            allowance,
        })
    }
}
