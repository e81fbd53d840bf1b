use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use super::confirmation_mail;
use super::email_verification::{EmailVerification, RESEND_PAUSE};
use crate::accounts::access::SignupToken;
use crate::accounts::capability::Capability;
use crate::accounts::credentials::account_of_signup_token;
use crate::accounts::input::OfAccount;
use crate::accounts::limits::mailbox;
use crate::accounts::limits::retry_after::not_before;
use crate::accounts::store;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, Outbox, Retry};
use crate::types::email::Email;
use crate::types::ids::AccountId;
use crate::types::text_enum::text_enum;

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
pub struct ResendConfirmation;

impl Capability for ResendConfirmation {
    const NAME: &'static str = "resend_confirmation";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Resend the confirmation mail",
        "Mails the confirmation code and link once more, at most once a minute.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Infra;
    type Access = SignupToken;
    type Input = OfAccount;
    type Output = Resent;

    fn refusals() -> Vec<Error> {
        vec![
            Error::AccountNotFound,
            Error::ConfirmationMailFailed,
            Error::ConfirmationMailTooSoon { retry_after: 60 },
        ]
    }

    async fn run(infra: &Infra, token: Option<String>, account: OfAccount) -> Result<Resent> {
        let account_id = &account.id()?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        store::find_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
        let account =
            account_of_signup_token(&mut transaction, now, account_id, token.as_deref()).await?;
        if account.is_verified() {
            let status = ResendStatus::AlreadyVerified;
            return Ok(Resent { sent: false, status, verification_url: None });
        }
        let sent_before = claim_mail(&mut transaction, now, account_id).await?;
        let email = Email::parse(&account.email)?;
        let too_many = |retry_after| Error::ConfirmationMailTooSoon { retry_after };
        mailbox::admit(&mut transaction, &infra.outbox, now, &email, too_many).await?;
        let verification = EmailVerification::issue(&mut transaction, now, account_id).await?;
        let kind = Kind::Confirmation;
        let mail = confirmation_mail::put(
            &mut transaction,
            &infra.outbox,
            kind,
            account_id,
            &verification,
        );
        let mail = mail.await?;
        transaction.commit().await?;
        if let Some(mail) = &mail
            && confirmation_mail::attempt(infra, mail, Retry::WhenUnanswered).await
                == Attempt::Failed
        {
            undo(&infra.pool, &infra.outbox, mail, account_id, sent_before).await?;
        }
        Ok(Resent {
            sent: true,
            status: ResendStatus::Sent,
            verification_url: mail.is_none().then(|| verification.url(infra.base_url())),
        })
    }
}

/// Records a mail at the present time, and returns the time of the previous one. Fails during the pause.
async fn claim_mail(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
) -> Result<Option<DateTime<Utc>>> {
    let before = store::lock_confirmation_mailed_at(connection, account_id).await?;
    if let Some(last) = before {
        let too_soon = |retry_after| Error::ConfirmationMailTooSoon { retry_after };
        not_before(last + RESEND_PAUSE, now, too_soon)?;
    }
    store::update_confirmation_mailed_at(connection, account_id, Some(now)).await?;
    Ok(before)
}

/// Ends the pause and restores the previous code when a mail could not be sent. A mail that another
/// attempt is sending is left alone.
async fn undo(
    pool: &PgPool,
    outbox: &Outbox,
    mail: &ClaimedMail,
    account_id: &AccountId,
    sent_before: Option<DateTime<Utc>>,
) -> Result<()> {
    let mut transaction = pool.begin().await?;
    if !outbox.cancel(&mut transaction, mail).await? {
        return Ok(());
    }
    store::update_confirmation_mailed_at(&mut transaction, account_id, sent_before).await?;
    confirmation_mail::give_back(&mut transaction, outbox, mail).await?;
    transaction.commit().await?;
    Err(Error::ConfirmationMailFailed)
}
