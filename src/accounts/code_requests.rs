//! Codes on request, for whoever has lost the signup token: how often, and to whom.
//!
//! Nobody learns here who has an account. A known and an unknown address get the same answer after
//! the same work; looking the account up and mailing happen after the answer, in a task of their
//! own. The price: a mail that fails is seen in the log only, and its minute counts as used (giving
//! it back would tell that the address is known). A stop of the service may lose a mail that was
//! promised; the next request, a minute later, sends another.

use chrono::{DateTime, Duration, NaiveTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use tracing::Instrument;
use utoipa::ToSchema;

use super::confirmation::{Proof, RESEND_PAUSE, seconds};
use super::credentials::secret_hash;
use super::email::Email;
use super::store::{self, CodeRequests};
use crate::error::{Error, Result};
use crate::platform::Platform;

/// Codes that may be asked for per address and UTC day; the one of the signup is not counted.
const CODES_PER_DAY: i32 = 5;

/// Who asks for a fresh code.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct CodeRequest {
    /// The address of an account.
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "ann@shop.example")]
    pub email: Option<String>,
}

/// The same for every address, known or not.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct CodeSent {
    /// Always true.
    pub sent: bool,
}

/// What the table knows of an address.
pub fn address_hash(email: &str) -> Vec<u8> {
    secret_hash(email)
}

/// Mails a fresh code and link to the address, should it have an account; confirmed accounts too,
/// since a code also brings a new signup token.
pub async fn request_code(platform: &Platform, email: Email) -> Result<CodeSent> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let hash = address_hash(email.as_str());
    let before = store::lock_code_requests(&mut transaction, &hash).await?;
    let requests = count_request(before, now)?;
    store::update_code_requests(&mut transaction, &hash, &requests).await?;
    transaction.commit().await?;
    let platform = platform.clone();
    let mailing = async move {
        match mail_code(&platform, &email).await {
            // Logged by the sender.
            Ok(()) | Err(Error::ConfirmationMailFailed) => {}
            Err(error) => tracing::error!(?error, "a requested code was not mailed"),
        }
    };
    tokio::spawn(mailing.in_current_span());
    Ok(CodeSent { sent: true })
}

fn count_request(before: CodeRequests, now: DateTime<Utc>) -> Result<CodeRequests> {
    let today = now.date_naive();
    let resent = if before.sent_on == today { before.resent } else { 0 };
    if resent >= CODES_PER_DAY {
        let tomorrow = (today + Duration::days(1)).and_time(NaiveTime::MIN).and_utc();
        return Err(Error::TooManyCodes { retry_after: seconds(tomorrow - now) });
    }
    let again_at = before.last_sent_at + RESEND_PAUSE;
    if again_at > now {
        return Err(Error::CodeTooSoon { retry_after: seconds(again_at - now) });
    }
    Ok(CodeRequests { last_sent_at: now, sent_on: today, resent: resent + 1 })
}

async fn mail_code(platform: &Platform, email: &Email) -> Result<()> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let found = store::find_account_by_email(&mut transaction, email.as_str()).await?;
    let Some(account) = found else { return Ok(()) };
    let proof = Proof::issue(&mut transaction, now, &account.account_id).await?;
    transaction.commit().await?;
    proof.mail(platform, email, &account.display_name).await.map(|_| ())
}

/// Starts the pause before another code may be asked for, without counting against the day.
pub async fn start_code_pause(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    email: &Email,
) -> Result<()> {
    let hash = address_hash(email.as_str());
    let before = store::lock_code_requests(connection, &hash).await?;
    let requests = CodeRequests { last_sent_at: now, ..before };
    store::update_code_requests(connection, &hash, &requests).await
}

/// Takes the pause back when the mail could not be sent.
pub async fn end_code_pause(connection: &mut PgConnection, email: &Email) -> Result<()> {
    let hash = address_hash(email.as_str());
    let before = store::lock_code_requests(connection, &hash).await?;
    let requests = CodeRequests { last_sent_at: DateTime::UNIX_EPOCH, ..before };
    store::update_code_requests(connection, &hash, &requests).await
}
