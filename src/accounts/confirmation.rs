//! Confirming an address: a link and a six-digit code in one mail, both valid for 24 hours.

use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::account::{Account, Status};
use super::credentials::{ApiKey, account_of_signup_token, issue_api_key, secret_hash};
use super::email::Email;
use super::store;
use crate::error::{Error, Result};
use crate::http::body::{missing_field, present};
use crate::ids::{AccountId, random_code, random_text};
use crate::platform::Platform;
use crate::platform::mailer::Delivery;
use crate::text_enum::text_enum;

/// Link and code end this long after they were sent.
pub const PROOF_LIFE: Duration = Duration::hours(24);
/// Between two confirmation mails to one account, and two codes to one address.
pub const RESEND_PAUSE: Duration = Duration::minutes(1);
const MAX_WRONG_TRIES: i32 = 5;

/// A link and a code, freshly made, not yet mailed.
pub struct Proof {
    link_token: String,
    code: String,
}

impl Proof {
    /// Stores the hashes of a new link and a new code. Older links stay valid, an older code ends.
    pub async fn issue(
        connection: &mut PgConnection,
        now: DateTime<Utc>,
        account_id: &AccountId,
    ) -> Result<Self> {
        let proof = Self { link_token: random_text(43), code: random_code() };
        let expires_at = now + PROOF_LIFE;
        let link_hash = secret_hash(&proof.link_token);
        store::insert_confirmation_link(connection, account_id, &link_hash, expires_at).await?;
        let code_hash = code_hash(account_id, &proof.code);
        store::upsert_confirmation_code(connection, account_id, &code_hash, expires_at).await?;
        Ok(proof)
    }

    /// The address that confirms when it is opened.
    pub fn url(&self, platform: &Platform) -> String {
        format!("{}/v1/email/verify?token={}", platform.base_url(), self.link_token)
    }

    /// Hands the mail to the mail server.
    pub async fn mail(
        &self,
        platform: &Platform,
        email: &Email,
        display_name: &str,
    ) -> Result<Delivery> {
        let mut context = tera::Context::new();
        context.insert("display_name", display_name);
        context.insert("verification_url", &self.url(platform));
        context.insert("code", &self.code);
        context.insert("base_url", platform.base_url());
        let subject = format!("{} is your Assent code", self.code);
        let address = email.address()?;
        platform.mailer.send(&address, &subject, "confirmation", &context).await.map_err(|error| {
            tracing::warn!(%error, "confirmation mail failed");
            Error::ConfirmationMailFailed
        })
    }
}

/// The account is part of what is hashed: six digits alone could be read back from a hash.
fn code_hash(account_id: &AccountId, code: &str) -> Vec<u8> {
    secret_hash(&format!("{account_id}:{code}"))
}

/// An address that its owner has confirmed by link.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Confirmed {
    pub account_id: AccountId,
    pub email_verified: bool,
}

/// Confirms through the link. A second use says the same again.
pub async fn confirm_by_link(platform: &Platform, token: &str) -> Result<Confirmed> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let account_id = valid_link(&mut transaction, now, token).await?;
    store::update_email_verified(&mut transaction, &account_id, now).await?;
    transaction.commit().await?;
    Ok(Confirmed { account_id, email_verified: true })
}

/// Whether the link would confirm, without any effect.
pub async fn check_link(platform: &Platform, token: &str) -> Result<()> {
    let mut connection = platform.pool.acquire().await?;
    valid_link(&mut connection, platform.clock.now(), token).await?;
    Ok(())
}

async fn valid_link(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    token: &str,
) -> Result<AccountId> {
    let link = store::find_confirmation_link(connection, &secret_hash(token))
        .await?
        .ok_or(Error::VerificationLinkNotFound)?;
    if link.expires_at <= now {
        return Err(Error::VerificationLinkExpired);
    }
    Ok(link.account_id)
}

/// The code of the confirmation mail.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ConfirmRequest {
    /// Six digits.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
    /// With a valid one the first confirmation brings an API key.
    pub signup_token: Option<String>,
}

/// The answer to a confirmation by code.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Confirmation {
    pub account_id: AccountId,
    pub status: Status,
    pub email_verified: bool,
    /// Whether the address had been confirmed before.
    pub already_verified: bool,
    /// Only for the first confirmation with a valid signup token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The key's first 12 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// Confirms through the code. With a valid signup token the first confirmation brings an API key.
pub async fn confirm_by_code(
    platform: &Platform,
    account_id: &AccountId,
    request: &ConfirmRequest,
) -> Result<Confirmation> {
    let code = present(request.code.as_deref()).ok_or_else(|| missing_field("code"))?;
    let signup_token = present(request.signup_token.as_deref());
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let account =
        store::lock_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
    if account.is_verified() {
        return Ok(confirmation(&account, true, None));
    }
    let verdict =
        try_code(&mut transaction, now, account_id, Some(code), CodeUse::Confirming).await?;
    if let Err(error) = verdict {
        // The wrong try is counted even though the request fails.
        transaction.commit().await?;
        return Err(error);
    }
    store::delete_confirmation_code(&mut transaction, account_id).await?;
    store::update_email_verified(&mut transaction, account_id, now).await?;
    let account =
        store::find_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
    let holds_token =
        account_of_signup_token(&mut transaction, now, account_id, signup_token).await.is_ok();
    let key = match holds_token && account.status == Status::Active {
        true => Some(issue_api_key(&mut transaction, now, account_id).await?),
        false => None,
    };
    transaction.commit().await?;
    Ok(confirmation(&account, false, key))
}

fn confirmation(account: &Account, already_verified: bool, key: Option<ApiKey>) -> Confirmation {
    Confirmation {
        account_id: account.account_id.clone(),
        status: account.status,
        email_verified: true,
        already_verified,
        prefix: key.as_ref().map(|key| key.prefix().to_owned()),
        api_key: key.map(|key| key.expose().to_owned()),
    }
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

text_enum! {
    /// What became of a confirmation mail.
    pub enum ResendStatus {
        Sent = "sent",
        AlreadyVerified = "already_verified",
    }
}

/// The answer to a request for another confirmation mail.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Resent {
    pub sent: bool,
    pub status: ResendStatus,
    /// A person opens it to confirm the address. Only where the service has no mail server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_url: Option<String>,
}

/// Mails another link and code, at most once a minute.
pub async fn resend_mail(
    platform: &Platform,
    account_id: &AccountId,
    signup_token: Option<&str>,
) -> Result<Resent> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    store::find_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
    let account = account_of_signup_token(&mut transaction, now, account_id, signup_token).await?;
    if account.is_verified() {
        let status = ResendStatus::AlreadyVerified;
        return Ok(Resent { sent: false, status, verification_url: None });
    }
    let claim =
        store::claim_confirmation_mail(&mut transaction, account_id, now, now - RESEND_PAUSE)
            .await?;
    let sent_before = claim.map_err(|last| Error::ConfirmationMailTooSoon {
        retry_after: seconds(last + RESEND_PAUSE - now),
    })?;
    let proof = Proof::issue(&mut transaction, now, account_id).await?;
    transaction.commit().await?;

    let email = Email::parse(&account.email)?;
    match proof.mail(platform, &email, &account.display_name).await {
        Ok(delivery) => Ok(Resent {
            sent: true,
            status: ResendStatus::Sent,
            verification_url: (delivery == Delivery::Skipped).then(|| proof.url(platform)),
        }),
        Err(error) => {
            let mut connection = platform.pool.acquire().await?;
            store::update_confirmation_mailed_at(&mut connection, account_id, sent_before).await?;
            Err(error)
        }
    }
}

/// Whole seconds, rounded up, for `Retry-After`.
pub fn seconds(duration: Duration) -> u64 {
    u64::try_from((duration.num_milliseconds() + 999) / 1000).unwrap_or(0).max(1)
}
