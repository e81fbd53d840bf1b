//! What can be asked for when an account leaves.

use super::deletion::{self, DeletedAccount, DeletionRequest};
use super::export;
use super::summary::{self, Summary};
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::codes::account_code_order;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
use crate::billing::service::Billing;
use crate::billing::stripe::Stripe;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::receipts::export::Lines;

/// All that is stored for the account.
pub struct ExportAccount;

impl Capability for ExportAccount {
    const NAME: &'static str = "export_account";
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = NoInput;
    type Output = Lines;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Lines> {
        caller.require_fresh()?;
        export::export(infra, &caller).await
    }
}

/// How much is stored for the account. Only the console asks: who leaves is told what goes.
pub struct SummarizeAccount;

impl Capability for SummarizeAccount {
    const NAME: &'static str = "summarize_account";
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = NoInput;
    type Output = Summary;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Summary> {
        summary::summarize(infra, &caller).await
    }
}

/// The account ends, and everything that is stored for it.
pub struct DeleteAccount;

impl Capability for DeleteAccount {
    const NAME: &'static str = "delete_account";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.open_world().described(
        "Deletes the account with everything in it, for good, and ends its subscription. Only \
         when the person asks for it and gives a code for `delete_account`; offer \
         `/v1/account/export` first.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Billing;
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
        deletion::delete(billing, &caller, &request).await
    }
}
