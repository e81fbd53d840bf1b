//! Deletion of an account by its owner: subscriptions are cancelled, and everything is erased. Once the
//! provider has cancelled the subscriptions, the account is marked and suspended. From then on the
//! deletion cannot be undone, and a job completes it if the node stops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::mail;
use crate::accounts;
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::Capability;
use crate::accounts::codes::account_code_order;
use crate::accounts::codes::account_code_order::prove_own;
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::members::membership_end;
use crate::accounts::operator::OperatorError as AccountError;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
use crate::billing::stripe::Stripe;
use crate::billing::{cancelling, service::Billing};
use crate::erasure::operator::{OperatorError, erase_account};
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::infra::isolation::isolate;
use crate::infra::limits::per_account::AccountLimit;
use crate::types::ids::AccountId;
use crate::types::text::present;

/// What shows that the account's owner wants it.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct DeletionRequest {
    /// The six digits that were mailed for `delete_account`.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// An account that is gone.
#[derive(Serialize, JsonSchema)]
pub struct DeletedAccount {
    account_id: AccountId,
    /// Always true.
    deleted: bool,
}

pub struct DeleteAccount;

impl Capability for DeleteAccount {
    const NAME: &'static str = "delete_account";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.open_world().described(
        "Delete the account",
        "Deletes the account with everything in it, for good, and ends its subscription. Only \
         when the person asks for it and gives a code for `delete_account`; offer \
         `/v1/account/export` first.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Service = Billing;
    type Access = KeyHolder<Governs>;
    type Input = DeletionRequest;
    type Output = DeletedAccount;

    fn refusals() -> Vec<Error> {
        let own = account_code_order::refusals().into_iter().chain(Stripe::refusals());
        own.chain([missing_field("code")]).collect()
    }

    async fn run(
        billing: &Billing,
        caller: Caller,
        request: DeletionRequest,
    ) -> Result<DeletedAccount> {
        let infra = &billing.infra;
        let account_id = caller.account_id();
        show_code(infra, &caller, present(request.code.as_deref())).await?;
        cancelling::end_subscriptions(&infra.pool, &infra.clock, &billing.stripe, account_id)
            .await?;
        let mut transaction = infra.pool.begin().await?;
        let account = accounts::lock_account(&mut transaction, account_id).await?;
        let account = account.ok_or(Error::AccountNotFound)?;
        membership_end::end_all(&mut transaction, &account).await?;
        accounts::update_deleting(&mut transaction, account_id, infra.clock.now()).await?;
        let mail = mail::put(&mut transaction, &infra.outbox, &infra.clock, &account).await?;
        infra.changes.commit(transaction, &Invalidation::of_account(account_id)).await?;
        mail::send(infra, mail);
        erase(infra, account_id).await?;
        tracing::info!(%account_id, "account deleted by its owner");
        Ok(DeletedAccount { account_id: account_id.clone(), deleted: true })
    }
}

async fn show_code(infra: &Infra, caller: &Caller, code: Option<&str>) -> Result<()> {
    let mut transaction = infra.pool.begin().await?;
    let account = accounts::lock_account(&mut transaction, caller.account_id()).await?;
    account.ok_or(Error::AccountNotFound)?;
    recheck(&mut transaction, infra.clock.now(), caller).await?;
    let purpose = CodePurpose::DeleteAccount;
    let (outbox, clock) = (&infra.outbox, &infra.clock);
    let verdict = prove_own(&mut transaction, outbox, clock, caller, purpose, code).await?;
    // Also committed for a wrong code, so that the try is counted.
    transaction.commit().await?;
    verdict
}

async fn erase(infra: &Infra, account_id: &AccountId) -> Result<()> {
    match erase_account(infra, account_id).await {
        Ok(_) | Err(OperatorError::Account(AccountError::NoSuchAccount(_))) => Ok(()),
        Err(OperatorError::Account(AccountError::Failed(error)) | OperatorError::Failed(error)) => {
            Err(error)
        }
        Err(error) => Err(Error::internal(error)),
    }
}

pub async fn finish_all(infra: &Infra) -> Result<()> {
    let account_ids = accounts::list_deleting(&mut *infra.pool.acquire().await?).await?;
    if account_ids.is_empty() {
        return Ok(());
    }
    let stripe = Stripe::new(&infra.config.stripe);
    for account_id in account_ids {
        let finished = finish(infra, &stripe, &account_id).await;
        isolate(finished, "the deletion of an account could not be completed", &account_id)?;
    }
    Ok(())
}

async fn finish(infra: &Infra, stripe: &Stripe, account_id: &AccountId) -> Result<()> {
    // Ends subscriptions that were bought during the deletion.
    cancelling::end_subscriptions(&infra.pool, &infra.clock, stripe, account_id).await?;
    erase(infra, account_id).await?;
    tracing::info!(%account_id, "a deletion that was cut off is finished");
    Ok(())
}
