//! API keys and signup tokens, generated from the system's random source and stored only as SHA-256.
//! They have about 256 bits of entropy, so a fast hash is enough: no dictionary attack is possible.

use std::fmt;

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use super::account::{Account, Status};
use super::actor::Actor;
use super::event::ActivityKind;
use super::events;
use super::scope::Scope;
use super::site_choice::chosen;
use super::sites::Sites;
use super::store::{self, NewKey};
use crate::error::{Error, Result};
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::{AccountId, random_text};

pub const SIGNUP_TOKEN_LIFE: Duration = Duration::hours(1);

const SECRET_LEN: usize = 43;
pub const PREFIX_LEN: usize = 12;

/// The credentials that a capability accepts, for its descriptions.
#[derive(Clone, Copy)]
pub enum Accepts {
    Nothing,
    Key,
    SignupToken,
    SignupTokenOrKey,
    /// A key is optional; without a key, the capability does less.
    OptionalKey,
    /// The key of an operator. Everybody else needs no credential.
    OperatorKey,
}

/// A new API key: `px_` and 43 random letters and digits. Shown once.
pub struct ApiKey(String);

impl ApiKey {
    fn random() -> Self {
        Self(format!("px_{}", random_text(SECRET_LEN)))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn prefix(&self) -> &str {
        &self.0[..PREFIX_LEN]
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKey({}…)", self.prefix())
    }
}

pub const MAX_LIVE_KEYS: i64 = 20;

/// The origin of a key: what issued it, or the origin of the key that issued it. Only whether this
/// is a signup token is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    SignupToken,
    Operator,
    Member,
}

#[derive(Clone, Copy, Debug)]
pub struct KeyTerms<'a> {
    pub origin: KeyOrigin,
    pub name: Option<&'a str>,
    pub scope: Scope,
    /// The only pixels that it may use; `None` for all.
    pub pixels: Option<&'a [String]>,
    pub expires_at: Option<DateTime<Utc>>,
    pub actor: &'a Actor,
}

impl<'a> KeyTerms<'a> {
    pub fn full(origin: KeyOrigin, actor: &'a Actor) -> Self {
        Self { origin, name: None, scope: Scope::Full, pixels: None, expires_at: None, actor }
    }
}

/// Issues another key. Locks the account's row, so that concurrent requests cannot exceed [`MAX_LIVE_KEYS`].
pub async fn issue_api_key(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    terms: KeyTerms<'_>,
) -> Result<ApiKey> {
    store::lock_account(connection, account_id).await?.ok_or(Error::AccountNotFound)?;
    if store::count_live_keys(connection, account_id, now).await? >= MAX_LIVE_KEYS {
        return Err(Error::KeyAllowanceReached);
    }
    let sites = chosen(connection, account_id, terms.pixels).await?;
    let key = ApiKey::random();
    let new = NewKey {
        account_id,
        key_hash: &secret_hash(&key.0),
        prefix: key.prefix(),
        name: terms.name,
        scope: terms.scope,
        sites: &sites,
        expires_at: terms.expires_at,
        from_signup_token: terms.origin == KeyOrigin::SignupToken,
        made_by: &terms.actor.to_string(),
        created_at: now,
    };
    store::insert_api_key(connection, &new).await?;
    let (kind, prefix) = (ActivityKind::KeyIssued, Some(key.prefix()));
    events::record(connection, now, account_id, terms.actor, kind, prefix).await?;
    Ok(key)
}

pub enum KeyLookup {
    Valid {
        account: Box<Account>,
        prefix: String,
        origin: KeyOrigin,
        scope: Scope,
        sites: Sites,
        expires_at: Option<DateTime<Utc>>,
    },
    Revoked,
    Expired,
    Unknown,
}

pub async fn look_up_key(
    connection: &mut PgConnection,
    key: &str,
    now: DateTime<Utc>,
) -> Result<KeyLookup> {
    let Some(row) = store::find_api_key(connection, &secret_hash(key)).await? else {
        return Ok(KeyLookup::Unknown);
    };
    if row.revoked_at.is_some() {
        return Ok(KeyLookup::Revoked);
    }
    if row.expires_at.is_some_and(|end| end <= now) {
        return Ok(KeyLookup::Expired);
    }
    let account = store::find_account(connection, &row.account_id).await?;
    let origin = if row.from_signup_token { KeyOrigin::SignupToken } else { KeyOrigin::Operator };
    Ok(account.map_or(KeyLookup::Unknown, |account| KeyLookup::Valid {
        account: Box::new(account),
        prefix: row.prefix,
        origin,
        scope: row.scope,
        sites: row.sites,
        expires_at: row.expires_at,
    }))
}

/// A new signup token: `st_` and 43 random letters and digits. Shown once.
pub struct SignupToken {
    secret: String,
    pub expires_at: DateTime<Utc>,
}

impl SignupToken {
    pub fn expose(&self) -> &str {
        &self.secret
    }
}

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

/// Issues a key to the holder of a signup token. The account must be active and its address confirmed.
pub async fn issue_key_for_signup(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    token: Option<&str>,
    terms: KeyTerms<'_>,
) -> Result<ApiKey> {
    // The lock serialises this and a concurrent renewal of the token.
    store::lock_account(connection, account_id).await?;
    let account = account_of_signup_token(connection, now, account_id, token).await?;
    if account.status != Status::Active {
        return Err(Error::AccountNotActive);
    }
    if !account.is_verified() {
        return Err(Error::ConfirmEmailFirst);
    }
    issue_api_key(connection, now, account_id, terms).await
}
