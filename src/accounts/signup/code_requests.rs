//! Codes on request, for a person who has lost the signup token. Known and unknown addresses get
//! the same answer after the same work; the account is looked up and mailed afterwards, in a
//! separate task that shutdown waits for. A failed mail is only logged, and does not end the pause:
//! reporting it or ending the pause would reveal that the address is known.

use chrono::{DateTime, Duration, NaiveTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::code_pause::key_of;
use super::confirmation_mail;
use super::email_verification::{EmailVerification, RESEND_PAUSE};
use crate::accounts::access::Anybody;
use crate::accounts::capability::Capability;
use crate::accounts::limits::mailbox;
use crate::accounts::limits::retry_after::not_before;
use crate::accounts::store::{self, CodeRequests};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::outbox::{Attempt, Kind, Retry};
use crate::types::email::Email;

/// The limit of codes per mailbox and UTC day. The code of the sign-up does not count.
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

/// Mails a fresh code and link to the address, should it have an account; confirmed accounts too,
/// since a code also brings a new signup token.
pub struct ResendCode;

impl Capability for ResendCode {
    const NAME: &'static str = "resend_code";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Mail a new code",
        "Mails a fresh code to an address that has an account, without any credential: at most \
         one a minute and five a day. The answer is the same whether the address has an account \
         or not.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Infra;
    type Access = Anybody;
    type Input = CodeRequest;
    type Output = CodeSent;

    fn refusals() -> Vec<Error> {
        vec![
            Error::InvalidEmail,
            Error::CodeTooSoon { retry_after: 60 },
            Error::TooManyCodes { retry_after: 3600 },
            missing_field("email"),
        ]
    }

    async fn run(infra: &Infra, (): (), request: CodeRequest) -> Result<CodeSent> {
        let email = Email::required(request.email.as_deref())?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let key = key_of(&email);
        let before = store::lock_code_requests(&mut transaction, key.as_bytes()).await?;
        let requests = count_request(before, now)?;
        store::update_code_requests(&mut transaction, key.as_bytes(), &requests).await?;
        let too_many = |retry_after| Error::CodeTooSoon { retry_after };
        mailbox::admit(&mut transaction, &infra.outbox, now, &email, too_many).await?;
        transaction.commit().await?;
        infra.spawn(|infra| async move {
            if let Err(error) = mail_code(&infra, &email).await {
                tracing::error!(?error, "a requested code was not mailed");
            }
        });
        Ok(CodeSent { sent: true })
    }
}

fn count_request(before: CodeRequests, now: DateTime<Utc>) -> Result<CodeRequests> {
    let today = now.date_naive();
    let resent = if before.sent_on == today { before.resent } else { 0 };
    if resent >= CODES_PER_DAY {
        let tomorrow = (today + Duration::days(1)).and_time(NaiveTime::MIN).and_utc();
        not_before(tomorrow, now, |retry_after| Error::TooManyCodes { retry_after })?;
    }
    let again_at = before.last_sent_at + RESEND_PAUSE;
    not_before(again_at, now, |retry_after| Error::CodeTooSoon { retry_after })?;
    Ok(CodeRequests { last_sent_at: now, sent_on: today, resent: resent + 1 })
}

async fn mail_code(infra: &Infra, email: &Email) -> Result<()> {
    let now = infra.clock.now();
    let mut transaction = infra.pool.begin().await?;
    let found = store::find_account_by_email(&mut transaction, email.as_str()).await?;
    let Some(account) = found else { return Ok(()) };
    let account_id = &account.account_id;
    let verification = EmailVerification::issue(&mut transaction, now, account_id).await?;
    let kind = Kind::Code;
    let mail =
        confirmation_mail::put(&mut transaction, &infra.outbox, kind, account_id, &verification);
    let mail = mail.await?;
    transaction.commit().await?;
    if let Some(mail) = &mail
        && confirmation_mail::attempt(infra, mail, Retry::UnlessRefused).await == Attempt::Failed
    {
        let mut transaction = infra.pool.begin().await?;
        if infra.outbox.cancel(&mut transaction, mail).await? {
            confirmation_mail::give_back(&mut transaction, &infra.outbox, mail).await?;
            transaction.commit().await?;
        }
    }
    Ok(())
}
