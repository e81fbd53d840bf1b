use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::account::{Plan, Status};
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::AccountId;

/// The answer to an activation.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Activated {
    pub account_id: AccountId,
    pub status: Status,
    /// As it was.
    pub plan: Plan,
}

/// Activates the account, confirmed or not; the plan stays. Only the operator ends a suspension, so
/// a suspended account is refused.
pub async fn activate(infra: &Infra, account_id: &AccountId) -> Result<Activated> {
    let mut transaction = infra.pool.begin().await?;
    let account =
        store::lock_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
    if account.status == Status::Suspended {
        return Err(Error::CustomerNotInGoodStanding);
    }
    store::update_activated(&mut transaction, account_id).await?;
    transaction.commit().await?;
    tracing::info!(%account_id, "account activated");
    Ok(Activated { account_id: account.account_id, status: Status::Active, plan: account.plan })
}
