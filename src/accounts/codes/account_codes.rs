//! Codes that show that somebody reads a mailbox now: six digits, one purpose, 15 minutes.
//!
//! A code works only for who asked: whoever holds a key of the account, or a member who is signed in.
//! So guesses from elsewhere neither hit it nor use it up, and nobody locks an owner out.
//! What is stored are hashes; who redeems a code says for which address it was sent.

use chrono::{DateTime, Duration, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::code_purpose::CodePurpose;
use crate::accounts::credentials::secret_hash;
use crate::accounts::limits::retry_after::seconds;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::types::email::Email;
use crate::types::ids::{AccountId, MAX_WRONG_TRIES, random_code};

/// A code ends this long after it was sent.
pub const CODE_LIFE: Duration = Duration::minutes(15);
/// What is told to whoever guessed too often: a new code may be asked for at once.
const AFTER_WRONG_TRIES: Duration = Duration::seconds(1);

/// Who asks for a code, and is the only one to redeem it.
#[derive(Clone)]
pub struct Asker(Vec<u8>);

impl Asker {
    /// Whoever holds a key of the account.
    pub fn of_account(account_id: &AccountId) -> Self {
        Self(secret_hash(&format!("account:{account_id}")))
    }

    /// A member of the account who is signed in.
    pub fn of_member(account_id: &AccountId, address: &str) -> Self {
        Self(secret_hash(&format!("member:{account_id}:{address}")))
    }

    /// The same asker, for the codes sent to the account's current mailbox during a change of address. A
    /// separate key lets a code for the old mailbox and one for the new mailbox exist at the same time.
    pub fn at_present_mailbox(&self) -> Self {
        Self(secret_hash(&format!("present mailbox:{}", hex::encode(&self.0))))
    }

    /// The stored hashes of these askers, for both mailboxes.
    pub fn hashes(askers: &[Self]) -> Vec<Vec<u8>> {
        askers.iter().flat_map(|asker| [asker.0.clone(), asker.at_present_mailbox().0]).collect()
    }

    pub fn hash(&self) -> &[u8] {
        &self.0
    }

    /// Six digits alone could be read back from a hash, so what the asker holds is hashed with them.
    fn code_hash(&self, purpose: CodePurpose, address: &Email, code: &str) -> Vec<u8> {
        let mut hash = Sha256::new_with_prefix(&self.0);
        for part in [purpose.as_str(), address.as_str(), code] {
            hash.update(part);
            hash.update([0]);
        }
        hash.finalize().to_vec()
    }
}

/// Makes a code for the address; an older one of the same asker and purpose ends.
///
/// The caller has counted it and sends it.
pub async fn issue(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    asker: &Asker,
    purpose: CodePurpose,
    address: &Email,
) -> Result<String> {
    let code = random_code();
    let hash = asker.code_hash(purpose, address, &code);
    store::upsert_account_code(connection, asker.hash(), purpose, &hash, now + CODE_LIFE).await?;
    Ok(code)
}

/// Checks a code, which stays valid until [`use_up`]. Wrong tries are counted; `None` is always wrong.
///
/// The inner result is the verdict; the caller commits in both cases.
pub async fn evaluate(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    asker: &Asker,
    purpose: CodePurpose,
    address: &Email,
    code: Option<&str>,
) -> Result<Result<()>> {
    let stored = store::lock_account_code(connection, asker.hash(), purpose).await?;
    let Some(stored) = stored.filter(|stored| stored.expires_at > now) else {
        return Ok(Err(Error::InvalidCode));
    };
    if stored.wrong_tries >= MAX_WRONG_TRIES {
        return Ok(Err(Error::TooManyAttempts { retry_after: seconds(AFTER_WRONG_TRIES) }));
    }
    // Hashes are compared, so the time it takes says nothing about the digits.
    let hash = code.map(|code| asker.code_hash(purpose, address, code.trim()));
    if hash.as_ref() != Some(&stored.code_hash) {
        store::update_account_code_tried(connection, asker.hash(), purpose).await?;
        return Ok(Err(Error::InvalidCode));
    }
    Ok(Ok(()))
}

/// Deletes a code that was right.
pub async fn use_up(
    connection: &mut PgConnection,
    asker: &Asker,
    purpose: CodePurpose,
) -> Result<()> {
    store::delete_account_code(connection, asker.hash(), purpose).await
}
