use serde_json::json;
use sqlx::PgConnection;

use super::email_verification::EmailVerification;
use crate::accounts::introduction::Introduction;
use crate::accounts::limits::mailbox;
use crate::accounts::mails::recipient;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Draft, Kind, NewMail, Retry};
use crate::infra::outbox::{Outbox, has_newer_undecided};
use crate::infra::smtp::RenderedMail;
use crate::infra::templates::tr;
use crate::types::email::Email;
use crate::types::ids::AccountId;

/// Queues the mail; `None` where no mail server is configured. The caller has counted it against the mailbox.
pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    kind: Kind,
    account_id: &AccountId,
    verification: &EmailVerification,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind, account_id: Some(account_id), pixel_id: None };
    outbox.put(connection, new, verification).await
}

pub async fn attempt(infra: &Infra, mail: &ClaimedMail, retry: Retry) -> Attempt {
    infra.outbox.attempt(mail, rendered(infra, mail).await, retry).await
}

/// Undoes the effects of a mail that was certainly not sent: the previous code is valid again, and
/// the mail is not counted.
pub async fn give_back(
    connection: &mut PgConnection,
    outbox: &Outbox,
    mail: &ClaimedMail,
) -> Result<()> {
    let Some(account_id) = &mail.account_id else { return Ok(()) };
    let Some(account) = store::find_account(connection, account_id).await? else { return Ok(()) };
    let verification = outbox.secrets::<EmailVerification>(mail)?;
    verification.take_back(connection, account_id).await?;
    mailbox::give_back(connection, &Email::parse(&account.email)?).await
}

/// Renders the mail. It is obsolete once the account is deleted or confirmed, or, at a further attempt, when
/// another code has replaced its code permanently. A requested code is useful for confirmed accounts too.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Draft> {
    let verification = infra.outbox.secrets::<EmailVerification>(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(Draft::NotNeeded) };
    let mut connection = infra.pool.acquire().await?;
    let Some(account) = store::find_account(&mut connection, account_id).await? else {
        return Ok(Draft::NotNeeded);
    };
    if mail.kind == Kind::Confirmation && account.is_verified() {
        return Ok(Draft::NotNeeded);
    }
    if mail.is_retry() {
        let kinds = [Kind::Confirmation, Kind::Code];
        // Read before the code: if a newer mail is refused in between, this mail's code is valid again.
        let may_come_back = has_newer_undecided(&mut connection, mail, account_id, &kinds).await?;
        if !verification.is_current(&mut connection, account_id).await? {
            return Ok(if may_come_back { Draft::NotYet } else { Draft::NotNeeded });
        }
    }
    let (email, code) = (&account.email, verification.code());
    let recipient =
        recipient::in_language_of(&mut connection, email, verification.requested()).await?;
    Ok(Draft::RenderedMail(RenderedMail {
        to: Email::parse(email)?.address().map_err(Error::internal)?,
        subject: tr("{{ code }} is your Assent code").with("code", code),
        values: json!({
            "account": Introduction::from(&account),
            "verification_url": verification.url(infra.base_url()),
            "disown_url": verification.reject_signup_url(infra.base_url()),
            "code": code,
            "base_url": infra.base_url(),
        }),
        recipient,
        unsubscribe_url: None,
    }))
}
