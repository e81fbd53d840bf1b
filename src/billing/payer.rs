//! Who may open an account's checkout and billing portal: the holder of its signup token or of
//! one of its API keys.

use crate::accounts::Account;
use crate::accounts::credentials::account_of_signup_token;
use crate::accounts::guards::{KeyRefusals, identify};
use crate::accounts::store::find_account;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::platform::Platform;

/// The account, if the credentials are its own. A signup token counts before a key.
pub async fn identify_payer(
    platform: &Platform,
    account_id: &str,
    signup_token: Option<&str>,
    api_key: Option<&str>,
) -> Result<Account> {
    let account_id = AccountId::parse(account_id).ok_or(Error::AccountNotFound)?;
    let account = {
        let mut connection = platform.pool.acquire().await?;
        find_account(&mut connection, &account_id).await?.ok_or(Error::AccountNotFound)?
    };
    if signup_token.is_none() && api_key.is_some() {
        let caller = identify(platform, api_key, KeyRefusals::who_am_i()).await?;
        let own = *caller.account_id() == account_id;
        return own.then_some(account).ok_or(Error::AccountNotFound);
    }
    let mut connection = platform.pool.acquire().await?;
    let now = platform.clock.now();
    account_of_signup_token(&mut connection, now, &account_id, signup_token).await
}
