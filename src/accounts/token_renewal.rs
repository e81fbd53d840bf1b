//! A new signup token for whoever can read the account's mail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::confirmation::{CodeUse, try_code};
use super::credentials::issue_signup_token;
use super::email::Email;
use super::store;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::http::body::{missing_field, present};
use crate::ids::AccountId;
use crate::platform::Platform;

/// What proves that the caller reads the account's mail.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct RenewalRequest {
    /// The account's address.
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "ann@shop.example")]
    pub email: Option<String>,
    /// Six digits, from the newest mail.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// A fresh signup token, shown once.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct RenewedToken {
    /// For the header `x-signup-token`.
    pub signup_token: String,
    pub expires_at: Timestamp,
}

/// Issues a new signup token for the code of the account's address; the old token ends.
///
/// The code brings one token. It does not confirm the address by itself, but may be used for that
/// afterwards, so that one mail is enough for both. What does not fit together (account, address,
/// code) is always `invalid code`, and counts as a wrong try.
pub async fn renew_signup_token(
    platform: &Platform,
    account_id: &str,
    request: &RenewalRequest,
) -> Result<RenewedToken> {
    let email = Email::required(request.email.as_deref())?;
    let code = present(request.code.as_deref()).ok_or_else(|| missing_field("code"))?;
    let account_id = &AccountId::parse(account_id).ok_or(Error::InvalidCode)?;
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let account =
        store::lock_account(&mut transaction, account_id).await?.ok_or(Error::InvalidCode)?;
    let code = Some(code).filter(|_| account.email == email.as_str());
    let verdict = try_code(&mut transaction, now, account_id, code, CodeUse::RenewingToken).await?;
    if let Err(error) = verdict {
        transaction.commit().await?;
        return Err(error);
    }
    match account.is_verified() {
        true => store::delete_confirmation_code(&mut transaction, account_id).await?,
        false => store::update_renewed_token(&mut transaction, account_id).await?,
    }
    let token = issue_signup_token(&mut transaction, now, account_id).await?;
    transaction.commit().await?;
    Ok(RenewedToken {
        signup_token: token.expose().to_owned(),
        expires_at: Timestamp(token.expires_at),
    })
}
