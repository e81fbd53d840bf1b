//! What verifies an address: a link and a six-digit code in one mail, both valid for 24 hours.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::accounts::credentials::secret_hash;
use crate::accounts::limits::retry_after::seconds;
use crate::accounts::store::{self, ConfirmationCode};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, MAX_WRONG_TRIES, random_code, random_text};

/// Link and code end this long after they were sent.
pub const VERIFICATION_LIFE: Duration = Duration::hours(24);
/// Between two confirmation mails to one account, and two codes to one address.
pub const RESEND_PAUSE: Duration = Duration::minutes(1);

/// A link and a code, not yet mailed. In the outbox they lie sealed.
#[derive(Deserialize, Serialize)]
pub struct EmailVerification {
    link_token: String,
    code: String,
    /// The code that this one has replaced, which its mail may have brought already.
    #[serde(default)]
    replaced: Option<ConfirmationCode>,
}

impl EmailVerification {
    /// Stores the hashes of a new link and a new code. Older links stay valid, an older code ends.
    pub async fn issue(
        connection: &mut PgConnection,
        now: DateTime<Utc>,
        account_id: &AccountId,
    ) -> Result<Self> {
        let (link_token, code) = (random_text(43), random_code());
        let expires_at = now + VERIFICATION_LIFE;
        let link_hash = secret_hash(&link_token);
        store::insert_confirmation_link(connection, account_id, &link_hash, expires_at).await?;
        let replaced = store::lock_confirmation_code(connection, account_id).await?;
        let code_hash = code_hash(account_id, &code);
        store::upsert_confirmation_code(connection, account_id, &code_hash, expires_at).await?;
        Ok(Self { link_token, code, replaced })
    }

    /// Brings back the code that this one has replaced, unless another one counts by now: its own
    /// mail certainly never arrives.
    pub async fn take_back(
        &self,
        connection: &mut PgConnection,
        account_id: &AccountId,
    ) -> Result<()> {
        let Some(replaced) = &self.replaced else { return Ok(()) };
        let hash = code_hash(account_id, &self.code);
        store::update_code_brought_back(connection, account_id, &hash, replaced).await
    }

    /// The address that confirms when it is opened.
    pub fn url(&self, infra: &Infra) -> String {
        format!("{}/v1/email/verify?token={}", infra.base_url(), self.link_token)
    }

    /// What the mail shows of it besides the link that confirms.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The address that closes the account of somebody who did not open it.
    pub fn reject_signup_url(&self, infra: &Infra) -> String {
        format!("{}/v1/email/disown?token={}", infra.base_url(), self.link_token)
    }

    /// Whether its code is the one that counts: not used up, and no newer one was made.
    pub async fn is_current(
        &self,
        connection: &mut PgConnection,
        account_id: &AccountId,
    ) -> Result<bool> {
        let hash = code_hash(account_id, &self.code);
        store::has_confirmation_code(connection, account_id, &hash).await
    }
}

/// The account is part of what is hashed: six digits alone could be read back from a hash.
fn code_hash(account_id: &AccountId, code: &str) -> Vec<u8> {
    secret_hash(&format!("{account_id}:{code}"))
}

/// What a code is used for: once to bring a signup token, and after that still to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeUse {
    Confirming,
    RenewingToken,
}

/// Whether this is the account's code; a wrong try is counted. `None` is always wrong.
///
/// The inner result is the verdict; the caller commits in both cases.
pub async fn try_code(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    code: Option<&str>,
    code_use: CodeUse,
) -> Result<Result<()>> {
    let Some(stored) = store::lock_confirmation_code(connection, account_id).await? else {
        return Ok(Err(Error::InvalidCode));
    };
    if stored.expires_at <= now {
        return Ok(Err(Error::InvalidCode));
    }
    if stored.wrong_tries >= MAX_WRONG_TRIES {
        return Ok(Err(Error::TooManyAttempts { retry_after: seconds(RESEND_PAUSE) }));
    }
    // Hashes are compared, so the time it takes says nothing about the digits.
    let right = code.is_some_and(|code| stored.code_hash == code_hash(account_id, code.trim()));
    if !right || (stored.renewed_token && code_use == CodeUse::RenewingToken) {
        store::update_wrong_tries(connection, account_id).await?;
        return Ok(Err(Error::InvalidCode));
    }
    Ok(Ok(()))
}
