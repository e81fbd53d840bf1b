use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::access::{ActivatingKey, Caller};
use crate::accounts::account::{Plan, Status};
use crate::accounts::capability::Capability;
use crate::accounts::input::OfAccount;
use crate::accounts::scope::Governs;
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

/// Makes the account active, whether its address is confirmed or not; the plan stays. A suspension
/// is the operator's to lift, so a suspended account is refused and stays as it is.
pub struct ActivateAccount;

impl Capability for ActivateAccount {
    const NAME: &'static str = "activate_account";
    type Service = Infra;
    type Access = ActivatingKey<Governs>;
    type Input = OfAccount;
    type Output = Activated;

    fn refusals() -> Vec<Error> {
        vec![Error::AccountNotFound, Error::CustomerNotInGoodStanding]
    }

    async fn run(infra: &Infra, _: Caller, account: OfAccount) -> Result<Activated> {
        let account_id = &account.id()?;
        let mut transaction = infra.pool.begin().await?;
        let account = store::lock_account(&mut transaction, account_id)
            .await?
            .ok_or(Error::AccountNotFound)?;
        if account.status == Status::Suspended {
            return Err(Error::CustomerNotInGoodStanding);
        }
        store::update_activated(&mut transaction, account_id).await?;
        transaction.commit().await?;
        tracing::info!(%account_id, "account activated");
        Ok(Activated { account_id: account.account_id, status: Status::Active, plan: account.plan })
    }
}
