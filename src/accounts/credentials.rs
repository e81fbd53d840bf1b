//! API keys and signup tokens: made from the system's random source, kept only as SHA-256.
//!
//! They have 256 bits or close to it, so a fast hash is enough (no dictionary can be tried).

use std::fmt;

use chrono::{DateTime, Duration, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::account::{Account, Status};
use super::actor::Actor;
use super::event::EventKind;
use super::events;
use super::scope::Scope;
use super::store::{self, NewKey};
use crate::error::{Error, Result};
use crate::types::ids::{AccountId, random_text};

/// A signup token ends this long after it was issued.
pub const SIGNUP_TOKEN_LIFE: Duration = Duration::hours(1);

const SECRET_LEN: usize = 43;
/// Characters of a key's prefix.
pub const PREFIX_LEN: usize = 12;

/// SHA-256 of a secret: all that is ever stored of it.
pub fn secret_hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret).to_vec()
}

/// A new API key, `px_` and 43 random letters and digits. Shown once.
pub struct ApiKey(String);

impl ApiKey {
    fn random() -> Self {
        Self(format!("px_{}", random_text(SECRET_LEN)))
    }

    /// The key itself, for the one answer that issues it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The first 12 characters, by which people tell keys apart.
    pub fn prefix(&self) -> &str {
        &self.0[..PREFIX_LEN]
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKey({}…)", self.prefix())
    }
}

/// Keys that an account may have at a time, revoked ones not counted.
pub const MAX_LIVE_KEYS: i64 = 20;

/// Where a key stems from: what issued it, or what issued the key that it was issued with. Only
/// whether it stems from a signup token is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// Ends when the account's signup token is renewed.
    SignupToken,
    Operator,
    /// A member who has signed in, with a code of the mailbox.
    Member,
}

/// What is known of a key that is to be issued, beside whose it is.
#[derive(Clone, Copy, Debug)]
pub struct KeyTerms<'a> {
    pub origin: KeyOrigin,
    pub name: Option<&'a str>,
    pub scope: Scope,
    /// Who issues it.
    pub actor: &'a Actor,
}

impl<'a> KeyTerms<'a> {
    /// A key without a name that may do everything.
    pub fn full(origin: KeyOrigin, actor: &'a Actor) -> Self {
        Self { origin, name: None, scope: Scope::Full, actor }
    }
}

/// Issues another key to an account.
///
/// Takes the account's row until the transaction ends, so that requests at once never pass
/// [`MAX_LIVE_KEYS`] together.
pub async fn issue_api_key(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    terms: KeyTerms<'_>,
) -> Result<ApiKey> {
    store::lock_account(connection, account_id).await?.ok_or(Error::AccountNotFound)?;
    if store::count_live_keys(connection, account_id).await? >= MAX_LIVE_KEYS {
        return Err(Error::KeyAllowanceReached);
    }
    let key = ApiKey::random();
    let new = NewKey {
        account_id,
        key_hash: &secret_hash(&key.0),
        prefix: key.prefix(),
        name: terms.name,
        scope: terms.scope,
        from_signup_token: terms.origin == KeyOrigin::SignupToken,
        made_by: &terms.actor.to_string(),
        created_at: now,
    };
    store::insert_api_key(connection, &new).await?;
    let (kind, prefix) = (EventKind::KeyIssued, Some(key.prefix()));
    events::note(connection, now, account_id, terms.actor, kind, prefix).await?;
    Ok(key)
}

/// The result of looking an API key up.
pub enum KeyLookup {
    Valid { account: Box<Account>, prefix: String, origin: KeyOrigin, scope: Scope },
    Revoked,
    Unknown,
}

/// Finds whose key this is. A malformed key is an unknown one.
pub async fn look_up_key(connection: &mut PgConnection, key: &str) -> Result<KeyLookup> {
    let Some(row) = store::find_api_key(connection, &secret_hash(key)).await? else {
        return Ok(KeyLookup::Unknown);
    };
    if row.revoked_at.is_some() {
        return Ok(KeyLookup::Revoked);
    }
    let account = store::find_account(connection, &row.account_id).await?;
    let origin = if row.from_signup_token { KeyOrigin::SignupToken } else { KeyOrigin::Operator };
    Ok(account.map_or(KeyLookup::Unknown, |account| KeyLookup::Valid {
        account: Box::new(account),
        prefix: row.prefix,
        origin,
        scope: row.scope,
    }))
}

/// A new signup token, `st_` and 43 random letters and digits. Shown once.
pub struct SignupToken {
    secret: String,
    pub expires_at: DateTime<Utc>,
}

impl SignupToken {
    /// The token itself, for the one answer that issues it.
    pub fn expose(&self) -> &str {
        &self.secret
    }
}

/// Issues a signup token; an older one of the account ends.
pub async fn issue_signup_token(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
) -> Result<SignupToken> {
    let secret = format!("st_{}", random_text(SECRET_LEN));
    let expires_at = now + SIGNUP_TOKEN_LIFE;
    store::upsert_signup_token(connection, account_id, &secret_hash(&secret), expires_at).await?;
    Ok(SignupToken { secret, expires_at })
}

/// The account that a signup token opens. An unknown token, or another account's, is the same as
/// none.
pub async fn account_of_signup_token(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    token: Option<&str>,
) -> Result<Account> {
    let token = token.ok_or(Error::SignupTokenRequired)?;
    let expires_at = store::find_signup_token(connection, account_id, &secret_hash(token))
        .await?
        .ok_or(Error::SignupTokenRequired)?;
    if expires_at <= now {
        return Err(Error::SignupTokenExpired);
    }
    store::find_account(connection, account_id).await?.ok_or(Error::SignupTokenRequired)
}

/// Issues a key to the holder of a signup token: the account must be active and its address
/// confirmed.
pub async fn issue_key_for_signup(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    token: Option<&str>,
    name: Option<&str>,
    scope: Scope,
) -> Result<ApiKey> {
    // A renewal of the token at this moment is waited for, or waits.
    store::lock_account(connection, account_id).await?;
    let account = account_of_signup_token(connection, now, account_id, token).await?;
    if account.status != Status::Active {
        return Err(Error::AccountNotActive);
    }
    if !account.is_verified() {
        return Err(Error::ConfirmEmailFirst);
    }
    let (origin, actor) = (KeyOrigin::SignupToken, &Actor::SignupToken);
    let terms = KeyTerms { origin, name, scope, actor };
    issue_api_key(connection, now, account_id, terms).await
}
