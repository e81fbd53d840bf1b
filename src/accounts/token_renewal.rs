//! A new signup token for whoever can read the account's mail.

use serde::Serialize;

use super::confirmation::{CodeUse, try_code};
use super::credentials::issue_signup_token;
use super::email::Email;
use super::store;
use crate::clock::rfc3339;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::platform::Platform;

/// A fresh signup token, shown once.
#[derive(Serialize)]
pub struct RenewedToken {
    signup_token: String,
    expires_at: String,
}

/// Issues a new signup token for the code of the account's address; the old token ends.
///
/// The code brings one token. It does not confirm the address by itself, but may be used for that
/// afterwards, so that one mail is enough for both. What does not fit together (account, address,
/// code) is always `invalid code`, and counts as a wrong try.
pub async fn renew_signup_token(
    platform: &Platform,
    account_id: &AccountId,
    email: &Email,
    code: &str,
) -> Result<RenewedToken> {
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
        expires_at: rfc3339(token.expires_at),
    })
}
