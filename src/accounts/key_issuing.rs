//! Issuing API keys to whoever may ask for one.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::account::Status;
use super::credentials::{self, ApiKey};
use super::guards::{KeyRefusals, identify};
use super::key_attempts::KeyAttempts;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::platform::Platform;

/// A new key as its caller reads it, this once.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct IssuedKey {
    /// The secret, `px_` and 43 letters and digits.
    pub api_key: String,
    /// The key's first 12 characters.
    pub prefix: String,
}

impl From<ApiKey> for IssuedKey {
    fn from(key: ApiKey) -> Self {
        Self { api_key: key.expose().to_owned(), prefix: key.prefix().to_owned() }
    }
}

/// The first key, or another one, for the holder of the account's signup token.
pub async fn issue_with_token(
    platform: &Platform,
    account_id: Option<&str>,
    token: &str,
) -> Result<IssuedKey> {
    let account_id = account_id.ok_or(Error::AccountIdRequired)?;
    let account_id = AccountId::parse(account_id).ok_or(Error::SignupTokenRequired)?;
    let mut transaction = platform.pool.begin().await?;
    let now = platform.clock.now();
    let key =
        credentials::issue_key_for_signup(&mut transaction, now, &account_id, Some(token)).await?;
    transaction.commit().await?;
    Ok(key.into())
}

/// Another key for the holder of one.
pub async fn issue_with_key(
    platform: &Platform,
    attempts: &KeyAttempts<'_>,
    key: Option<&str>,
) -> Result<IssuedKey> {
    let looked_up = identify(platform, key, KeyRefusals::who_am_i());
    let caller = attempts.watch(key, looked_up).await?;
    if caller.account.status != Status::Active {
        return Err(Error::AccountNotActive);
    }
    let mut connection = platform.pool.acquire().await?;
    let now = platform.clock.now();
    let key = credentials::issue_api_key(&mut connection, now, caller.account_id()).await?;
    Ok(key.into())
}
