//! The link and the six-digit code of one mail that verify an address, both valid for 24 hours.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::accounts::limits::retry_after::seconds;
use crate::accounts::store::{self, ConfirmationCode};
use crate::error::{Error, Result};
use crate::infra::requested_language::Requested;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::{AccountId, MAX_WRONG_TRIES, random_code, random_text};

pub const VERIFICATION_LIFE: Duration = Duration::hours(24);
/// The pause between two confirmation mails to one account, and two codes to one address.
pub const RESEND_PAUSE: Duration = Duration::minutes(1);

/// A link and a code. Encrypted in the outbox.
#[derive(Deserialize, Serialize)]
pub struct EmailVerification {
    link_token: String,
    code: String,
    #[serde(default)]
    replaced: Option<ConfirmationCode>,
    #[serde(default)]
    requested: Requested,
}

impl EmailVerification {
    /// Stores the hashes of a new link and a new code. Older links stay valid; the older code ends.
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
        Ok(Self { link_token, code, replaced, requested: Requested::current() })
    }

    /// Restores the replaced code after this mail was certainly not sent, unless a newer code is valid.
    pub async fn take_back(
        &self,
        connection: &mut PgConnection,
        account_id: &AccountId,
    ) -> Result<()> {
        let Some(replaced) = &self.replaced else { return Ok(()) };
        let hash = code_hash(account_id, &self.code);
        store::update_code_brought_back(connection, account_id, &hash, replaced).await
    }

    pub fn url(&self, base_url: &str) -> String {
        format!("{base_url}/v1/email/verify?token={}", self.link_token)
    }

    pub fn code(&self) -> &str {
        &self.code
    }

    /// The language of the request that the mail answers.
    pub fn requested(&self) -> Requested {
        self.requested
    }

    pub fn reject_signup_url(&self, base_url: &str) -> String {
        format!("{base_url}/v1/email/disown?token={}", self.link_token)
    }

    pub async fn is_current(
        &self,
        connection: &mut PgConnection,
        account_id: &AccountId,
    ) -> Result<bool> {
        let hash = code_hash(account_id, &self.code);
        store::has_confirmation_code(connection, account_id, &hash).await
    }
}

/// Includes the account, because a hash of six digits alone could be reversed.
fn code_hash(account_id: &AccountId, code: &str) -> Vec<u8> {
    secret_hash(&format!("{account_id}:{code}"))
}

/// The use of a code. It can be used once for a signup token, and afterwards still to confirm the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeUse {
    Confirming,
    RenewingToken,
}

/// Checks the account's code and counts a wrong try. `None` is always wrong. The caller must commit
/// even if the inner result is an error.
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
    // Hashes are compared, so the timing of the comparison reveals nothing about the digits.
    let right = code.is_some_and(|code| stored.code_hash == code_hash(account_id, code.trim()));
    if !right || (stored.renewed_token && code_use == CodeUse::RenewingToken) {
        store::update_wrong_tries(connection, account_id).await?;
        return Ok(Err(Error::InvalidCode));
    }
    Ok(Ok(()))
}
