//! API keys and signup tokens: made from the system's random source, kept only as SHA-256.
//!
//! They have 256 bits or close to it, so a fast hash is enough (no dictionary can be tried).

use std::fmt;

use chrono::{DateTime, Duration, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::account::{Account, Status};
use super::store;
use crate::error::{Error, Result};
use crate::ids::{AccountId, random_text};

/// A signup token ends this long after it was issued.
pub const SIGNUP_TOKEN_LIFE: Duration = Duration::hours(1);

const SECRET_LEN: usize = 43;
const PREFIX_LEN: usize = 12;

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

/// Issues another key to an account.
pub async fn issue_api_key(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
) -> Result<ApiKey> {
    let key = ApiKey::random();
    store::insert_api_key(connection, account_id, &secret_hash(&key.0), key.prefix(), now).await?;
    Ok(key)
}

/// The result of looking an API key up.
pub enum KeyLookup {
    Valid { account: Box<Account>, prefix: String },
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
    Ok(account.map_or(KeyLookup::Unknown, |account| KeyLookup::Valid {
        account: Box::new(account),
        prefix: row.prefix,
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
) -> Result<ApiKey> {
    let account = account_of_signup_token(connection, now, account_id, token).await?;
    if account.status != Status::Active {
        return Err(Error::AccountNotActive);
    }
    if !account.is_verified() {
        return Err(Error::ConfirmEmailFirst);
    }
    issue_api_key(connection, now, account_id).await
}
