//! The end of a sign-in: the digits are there, and a session opens.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::secrets::{SIGN_IN_LIFE, code_hash};
use super::store::{self, Row};
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::confirmation::redeem;
use crate::accounts::credentials::secret_hash;
use crate::accounts::event::EventKind;
use crate::accounts::events;
use crate::accounts::mails::safety;
use crate::accounts::member::{Membership, member_of};
use crate::accounts::retry_after::seconds;
use crate::accounts::sessions::{self, NewSession};
use crate::accounts::store as accounts;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, MAX_WRONG_TRIES};

/// Opens a session for the digits, in the browser that holds the secret of the sign-in. Digits serve
/// once; all that is not right is the same `invalid code`. The member is told by mail, but not who has
/// just signed up, or has the session `former` in this browser.
pub async fn finish(
    infra: &Infra,
    secret: Option<&str>,
    code: &str,
    browser: &str,
    former: Option<&str>,
) -> Result<NewSession> {
    let token_hash = secret_hash(secret.ok_or(Error::InvalidCode)?);
    let now = infra.clock.now();
    let mut transaction = infra.pool.begin().await?;
    let found = store::lock_sign_in(&mut transaction, &token_hash).await?;
    let sign_in = found.filter(|row| row.expires_at > now).ok_or(Error::InvalidCode)?;
    let judged = match sign_in.account_id {
        Some(_) => judge_signup(&mut transaction, now, &sign_in, code).await?,
        None => judge(&mut transaction, now, &token_hash, &sign_in, code).await?,
    };
    let account = match judged {
        Ok(account) => account,
        Err(refusal) => {
            // The wrong try is counted even though the request fails.
            transaction.commit().await?;
            return Err(refusal);
        }
    };
    store::delete_sign_in(&mut transaction, &token_hash).await?;
    let account_id = &account.account_id;
    let address = &*sign_in.address;
    let session = sessions::open(&mut transaction, now, account_id, address, browser).await?;
    let is_known = sign_in.account_id.is_some()
        || is_signed_in(&mut transaction, now, account_id, address, former).await?;
    let mail = match is_known {
        true => None,
        false => {
            safety::put_new_sign_in(&mut transaction, infra, &account, address, browser).await?
        }
    };
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(session)
}

/// Whether the browser has a session of the same member, who only shows once more who it is.
async fn is_signed_in(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    address: &str,
    former: Option<&str>,
) -> Result<bool> {
    let Some(former) = former else { return Ok(false) };
    let found = sessions::store::find_session(connection, &secret_hash(former), now).await?;
    Ok(found.is_some_and(|row| row.account_id == *account_id && row.address == address))
}

/// Whose mailbox the digits were mailed to, if they are the right ones; a wrong try is counted.
async fn judge(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    token_hash: &[u8],
    sign_in: &Row,
    code: &str,
) -> Result<Result<Account>> {
    if sign_in.wrong_tries >= MAX_WRONG_TRIES {
        return Ok(Err(Error::TooManyAttempts { retry_after: seconds(SIGN_IN_LIFE) }));
    }
    let membership = member_of(connection, &sign_in.address).await?;
    // Hashes are compared, so the time it takes says nothing about the digits.
    let is_right = sign_in.code_hash == code_hash(token_hash, code);
    match membership.filter(|_| is_right) {
        Some(Membership { account, member_id: Some(_), .. }) => Ok(Ok(account)),
        Some(Membership { account, .. }) => confirm(connection, now, account).await.map(Ok),
        None => {
            store::update_wrong_tries(connection, token_hash).await?;
            Ok(Err(Error::InvalidCode))
        }
    }
}

/// Whoever reads the mailbox has confirmed the address by that. An account that waited for it may
/// have been opened by somebody else, so the credentials that it has had until now end.
async fn confirm(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account: Account,
) -> Result<Account> {
    let account_id = &account.account_id;
    if accounts::update_email_verified(connection, account_id, now).await? {
        accounts::delete_signup_token(connection, account_id).await?;
        if accounts::update_token_keys_revoked(connection, account_id, now).await? > 0 {
            let (actor, kind) = (Actor::Member(account.email.clone()), EventKind::KeysRevoked);
            events::note(connection, now, account_id, &actor, kind, None).await?;
        }
    }
    Ok(account)
}

/// The account that was signed up for, if these are the digits of its confirmation mail.
async fn judge_signup(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    sign_in: &Row,
    code: &str,
) -> Result<Result<Account>> {
    let Some(account_id) = &sign_in.account_id else { return Ok(Err(Error::InvalidCode)) };
    accounts::lock_account(connection, account_id).await?;
    redeem(connection, now, account_id, code).await
}
