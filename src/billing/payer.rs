//! Access to an account's checkout and billing portal: its signup token or one of its API keys.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::access::{Access, AnyKey, Credentials};
use crate::accounts::account::Account;
use crate::accounts::credentials::account_of_signup_token;
use crate::accounts::find_account;
use crate::accounts::keys::key_attempts::KeyAttempts;
use crate::accounts::scope::Governs;
use crate::accounts::service::Accounts;
use crate::error::{Error, Result};
use crate::types::ids::AccountId;
use crate::types::ids::id_param::IdParam;

pub fn refusals() -> Vec<Error> {
    let own = [
        Error::InvalidApiKey { status: 401 },
        Error::ApiKeyRevoked { status: 401 },
        Error::ApiKeyExpired,
        Error::RestrictedToSites,
        Error::ScopeNotAllowed,
        Error::AccountNotFound,
        Error::SignupTokenRequired,
        Error::SignupTokenExpired,
    ];
    own.into_iter().chain(KeyAttempts::refusals()).collect()
}

/// Finds the account of the credentials. A signup token takes precedence over a key; a failed key is counted.
pub async fn identify_payer(
    accounts: &Accounts,
    credentials: &Credentials,
    account_id: IdParam<AccountId>,
) -> Result<Account> {
    let infra = &accounts.infra;
    let account_id = account_id.into_id().ok_or(Error::AccountNotFound)?;
    let account = {
        let mut connection = infra.pool.acquire().await?;
        find_account(&mut connection, &account_id).await?.ok_or(Error::AccountNotFound)?
    };
    let (token, key) = (credentials.signup_token.as_deref(), credentials.api_key.as_deref());
    if token.is_none() && (key.is_some() || credentials.member.is_some()) {
        let caller = AnyKey::<Governs>::admit(accounts, credentials.clone()).await?;
        caller.sites.require_all()?;
        let own = *caller.account_id() == account_id;
        return own.then_some(account).ok_or(Error::AccountNotFound);
    }
    let mut connection = infra.pool.acquire().await?;
    let now = infra.clock.now();
    account_of_signup_token(&mut connection, now, &account_id, token).await
}

/// The account to pay for.
#[derive(Deserialize, JsonSchema)]
pub struct PayerRequest {
    pub account_id: IdParam<AccountId>,
}
