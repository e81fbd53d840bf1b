//! What can be asked for about API keys.

use schemars::JsonSchema;
use serde::Serialize;

use crate::accounts::access::{
    Access, AnyKey, Caller, Credentials, KeyHolder, Presented, SignupToken,
};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::credentials::Accepts;
use crate::accounts::input::OfKey;
use crate::accounts::keys::key_issuing::{self, IssuedKey, KeyOrder};
use crate::accounts::keys::{self, KeyList};
use crate::accounts::scope::{Governs, Oversees};
use crate::accounts::service::Accounts;
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::limits::per_client::Limit;

/// A key for whoever has the account's signup token, or a key of it.
pub struct IssueApiKey;

impl Capability for IssueApiKey {
    const NAME: &'static str = "issue_api_key";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Issues an API key: the first one with the signup token and `account_id` once the \
         address is confirmed, another one with a key. The secret is shown only in this answer.",
    ));
    const ACCEPTS: Accepts = Accepts::SignupTokenOrKey;
    const LIMIT: Option<Limit> = Some(Limit::KeyIssues);
    type Part = Accounts;
    type Access = Presented;
    type Input = KeyOrder;
    type Output = IssuedKey;

    fn refusals() -> Vec<Error> {
        let own = [
            AccountIdRequired,
            ApiKeyOrSignupTokenRequired,
            AccountNotFound,
            AccountNotActive,
            ConfirmEmailFirst,
            KeyAllowanceReached,
            missing_field("name"),
        ];
        own.into_iter()
            .chain(SignupToken::refusals())
            .chain(AnyKey::<Governs>::refusals())
            .collect()
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        order: KeyOrder,
    ) -> Result<IssuedKey> {
        key_issuing::issue(accounts, &credentials, order).await
    }
}

/// The account's keys that work.
pub struct ListApiKeys;

impl Capability for ListApiKeys {
    const NAME: &'static str = "list_api_keys";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Lists the account's API keys that work: prefix, name, when they were issued and last \
         used (to the hour). Secrets are never shown again.",
    ));
    type Part = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = KeyList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<KeyList> {
        keys::list_keys(infra, caller.account_id()).await
    }
}

/// A key that has ended.
#[derive(Serialize, JsonSchema)]
pub struct RevokedKey {
    prefix: String,
    /// Always true.
    revoked: bool,
}

/// A key ends at once, for good.
pub struct RevokeApiKey;

impl Capability for RevokeApiKey {
    const NAME: &'static str = "revoke_api_key";
    const TOOL: Option<Tool> = Some(
        Tool::DESTRUCTIVE
            .described("Ends an API key at once, for good. The key of this call may be ended too."),
    );
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OfKey;
    type Output = RevokedKey;

    fn refusals() -> Vec<Error> {
        vec![ApiKeyNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfKey { prefix }: OfKey) -> Result<RevokedKey> {
        keys::revoke_key(infra, &caller, &prefix).await?;
        Ok(RevokedKey { prefix, revoked: true })
    }
}
