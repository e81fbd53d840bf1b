//! What can be asked for about accounts: the plans, signing up, and how an account stands.

use crate::accounts::access::{
    ActivatingKey, Anybody, Caller, Credentials, Presented, SignupToken,
};
use crate::accounts::capability::{Capability, InvalidInput, NoInput};
use crate::accounts::credentials::Accepts;
use crate::accounts::input::OfAccount;
use crate::accounts::plans::{self, PlanList};
use crate::accounts::scope::Governs;
use crate::accounts::service::Accounts;
use crate::accounts::signup::account_view::{self, AccountView};
use crate::accounts::signup::activation::{self, Activated};
use crate::accounts::signup::signup_request::SignupRequest;
use crate::accounts::signup::{self, OpenedAccount};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::{Client, Limit};

/// The plans that there are.
pub struct ListPlans;

impl Capability for ListPlans {
    const NAME: &'static str = "list_plans";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Tells the plans: what a trial includes, and what it costs after that. Needs no key.",
    ));
    type Part = Infra;
    type Access = Anybody;
    type Input = NoInput;
    type Output = PlanList;

    async fn run(_: &Infra, (): (), _: NoInput) -> Result<PlanList> {
        Ok(plans::offered())
    }
}

/// A new account. An operator's signups are not counted, so whose key it is comes first.
pub struct CreateAccount;

impl Capability for CreateAccount {
    const NAME: &'static str = "create_account";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Opens an account with a 30-day trial and mails the person a confirmation code and \
         link. Needs no key. Keep `account_id` and `signup_token`; where the service sends no \
         mail, the answer has a `verification_url` for `confirm_by_link`.",
    ));
    const ACCEPTS: Accepts = Accepts::OperatorKey;
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Part = Accounts;
    type Access = Presented;
    type Input = SignupRequest;
    type Output = OpenedAccount;

    fn refusals() -> Vec<Error> {
        vec![
            InvalidEmail,
            DisplayNameRequired,
            wrong_field("display_name", "must be a string"),
            EmailRegistered,
            ExternalUserRegistered,
            ConfirmationMailFailed,
            ScopeNotAllowed,
            TooManyRequests { retry_after: 20 },
        ]
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        request: SignupRequest,
    ) -> Result<OpenedAccount> {
        let signup = request.check()?;
        let by_operator = signup::is_operator(accounts, &credentials).await?;
        if !by_operator {
            Client::new(&accounts.limits, credentials.net).admit(Limit::Signups)?;
        }
        signup::open_account(&accounts.infra, by_operator, signup).await
    }
}

/// An account, as its signup token may see it.
pub struct ShowAccount;

impl Capability for ShowAccount {
    const NAME: &'static str = "show_account";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Tells an account's status and plan, and whether its address is confirmed. Needs the \
         signup token; with a key, `whoami` tells more.",
    ));
    type Part = Infra;
    type Access = SignupToken;
    type Input = OfAccount;
    type Output = AccountView;

    async fn run(
        infra: &Infra,
        token: Option<String>,
        OfAccount { account_id }: OfAccount,
    ) -> Result<AccountView> {
        account_view::show(infra, &account_id, token.as_deref()).await
    }
}

/// An operator makes a customer's account active.
pub struct ActivateAccount;

impl Capability for ActivateAccount {
    const NAME: &'static str = "activate_account";
    type Part = Infra;
    type Access = ActivatingKey<Governs>;
    type Input = OfAccount;
    type Output = Activated;

    fn refusals() -> Vec<Error> {
        vec![AccountNotFound, CustomerNotInGoodStanding]
    }

    async fn run(infra: &Infra, _: Caller, account: OfAccount) -> Result<Activated> {
        activation::activate(infra, &account.id()?).await
    }
}
