use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::access::SignupToken;
use crate::accounts::account::{Account, Plan, Status};
use crate::accounts::capability::Capability;
use crate::accounts::credentials::account_of_signup_token;
use crate::accounts::input::OfAccount;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::AccountId;

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

/// An account, for the holder of its signup token.
pub struct ShowAccount;

impl Capability for ShowAccount {
    const NAME: &'static str = "show_account";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show the account",
        "Tells an account's status and plan, and whether its address is confirmed. Needs the \
         signup token; with a key, `whoami` tells more.",
    ));
    type Service = Infra;
    type Access = SignupToken;
    type Input = OfAccount;
    type Output = AccountView;

    async fn run(
        infra: &Infra,
        token: Option<String>,
        OfAccount { account_id }: OfAccount,
    ) -> Result<AccountView> {
        let account_id = account_id.into_id().ok_or(Error::SignupTokenRequired)?;
        let mut connection = infra.pool.acquire().await?;
        let now = infra.clock.now();
        let account =
            account_of_signup_token(&mut connection, now, &account_id, token.as_deref()).await?;
        Ok(account.into())
    }
}
