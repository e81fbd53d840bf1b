//! Codes that prove access to a mailbox: six digits, one purpose, 15 minutes. A code works only for
//! its holder (anyone with a key of the account, or a signed-in member), so guesses of others
//! neither succeed nor count, and nobody can lock an owner out. Only hashes are stored, so the
//! address must be given again with the code.

use chrono::{DateTime, Duration, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::code_purpose::CodePurpose;
use crate::accounts::limits::retry_after::seconds;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::secret_hash::secret_hash;
use crate::types::email::Email;
use crate::types::ids::{AccountId, MAX_WRONG_TRIES, random_code};

pub const CODE_LIFE: Duration = Duration::minutes(15);
const AFTER_WRONG_TRIES: Duration = Duration::seconds(1);

#[derive(Clone)]
pub struct CodeHolder(Vec<u8>);

impl CodeHolder {
    pub fn of_account(account_id: &AccountId) -> Self {
        Self(secret_hash(&format!("account:{account_id}")))
    }

    pub fn of_member(account_id: &AccountId, address: &str) -> Self {
        Self(secret_hash(&format!("member:{account_id}:{address}")))
    }

    /// The same holder, for codes to the current mailbox during a change of address. The separate
    /// key lets codes for the old and the new mailbox exist at the same time.
    pub fn at_present_mailbox(&self) -> Self {
        Self(secret_hash(&format!("present mailbox:{}", hex::encode(&self.0))))
    }

    pub fn hashes(holders: &[Self]) -> Vec<Vec<u8>> {
        holders
            .iter()
            .flat_map(|holder| [holder.0.clone(), holder.at_present_mailbox().0])
            .collect()
    }

    pub fn hash(&self) -> &[u8] {
        &self.0
    }

    /// Includes the holder's key, because a hash of six digits alone could be reversed.
    fn code_hash(&self, purpose: CodePurpose, address: &Email, code: &str) -> Vec<u8> {
        let mut hash = Sha256::new_with_prefix(&self.0);
        for part in [purpose.as_str(), address.as_str(), code] {
            hash.update(part);
            hash.update([0]);
        }
        hash.finalize().to_vec()
    }
}

/// Creates a code, which replaces an older one of the holder and purpose. The caller has counted the mail.
pub async fn issue(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    holder: &CodeHolder,
    purpose: CodePurpose,
    address: &Email,
) -> Result<String> {
    let code = random_code();
    let hash = holder.code_hash(purpose, address, &code);
    store::upsert_account_code(connection, holder.hash(), purpose, &hash, now + CODE_LIFE).await?;
    Ok(code)
}

/// Checks a code, which stays valid until [`use_up`]. Counts wrong tries; `None` is always wrong.
/// The caller must commit even if the inner result is an error.
pub async fn evaluate(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    holder: &CodeHolder,
    purpose: CodePurpose,
    address: &Email,
    code: Option<&str>,
) -> Result<Result<()>> {
    let stored = store::lock_account_code(connection, holder.hash(), purpose).await?;
    let Some(stored) = stored.filter(|stored| stored.expires_at > now) else {
        return Ok(Err(Error::InvalidCode));
    };
    if stored.wrong_tries >= MAX_WRONG_TRIES {
        return Ok(Err(Error::TooManyAttempts { retry_after: seconds(AFTER_WRONG_TRIES) }));
    }
    // Hashes are compared, so the timing of the comparison reveals nothing about the digits.
    let hash = code.map(|code| holder.code_hash(purpose, address, code.trim()));
    if hash.as_ref() != Some(&stored.code_hash) {
        store::update_account_code_tried(connection, holder.hash(), purpose).await?;
        return Ok(Err(Error::InvalidCode));
    }
    Ok(Ok(()))
}

pub async fn use_up(
    connection: &mut PgConnection,
    holder: &CodeHolder,
    purpose: CodePurpose,
) -> Result<()> {
    store::delete_account_code(connection, holder.hash(), purpose).await
}
