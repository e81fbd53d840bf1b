//! The mail with which an address is confirmed: put into the outbox, and written for each attempt.

use sqlx::PgConnection;

use super::email_verification::EmailVerification;
use crate::accounts::introduction::Introduction;
use crate::accounts::limits::mailbox;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::store::has_newer_undecided;
use crate::infra::outbox::{Attempt, ClaimedMail, Draft, Kind, NewMail, Retry};
use crate::infra::smtp::RenderedMail;
use crate::types::email::Email;
use crate::types::ids::AccountId;

/// Puts the mail into the outbox; `None` where no mail server is configured. The caller has had it
/// admitted to the mailbox.
pub async fn put(
    connection: &mut PgConnection,
    infra: &Infra,
    kind: Kind,
    account_id: &AccountId,
    verification: &EmailVerification,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind, account_id: Some(account_id), pixel_id: None };
    infra.outbox.put(connection, new, verification).await
}

/// Hands the mail to the mail server.
pub async fn attempt(infra: &Infra, mail: &ClaimedMail, retry: Retry) -> Attempt {
    infra.outbox.attempt(mail, rendered(infra, mail).await, retry).await
}

/// Undoes what a mail has changed that certainly never arrives: the code before counts again, and the
/// mailbox has one mail more to get.
pub async fn give_back(
    connection: &mut PgConnection,
    infra: &Infra,
    mail: &ClaimedMail,
) -> Result<()> {
    let Some(account_id) = &mail.account_id else { return Ok(()) };
    let Some(account) = store::find_account(connection, account_id).await? else { return Ok(()) };
    let verification = infra.outbox.secrets::<EmailVerification>(mail)?;
    verification.take_back(connection, account_id).await?;
    mailbox::give_back(connection, &Email::parse(&account.email)?).await
}

/// The mail as it is now. It is not needed any more once the account is gone or confirmed, or, when
/// the mail is tried again, another code has taken the place of its own for good. A requested code
/// is good for confirmed accounts too.
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
        // Asked for first: what is refused in between brings this mail's code back.
        let may_come_back = has_newer_undecided(&mut connection, mail, account_id, &kinds).await?;
        if !verification.is_current(&mut connection, account_id).await? {
            return Ok(if may_come_back { Draft::NotYet } else { Draft::NotNeeded });
        }
    }
    let mut context = tera::Context::new();
    context.insert("account", &Introduction::from(&account));
    context.insert("verification_url", &verification.url(infra));
    context.insert("disown_url", &verification.reject_signup_url(infra));
    context.insert("code", verification.code());
    context.insert("base_url", infra.base_url());
    Ok(Draft::RenderedMail(RenderedMail {
        to: Email::parse(&account.email)?.address().map_err(Error::internal)?,
        subject: format!("{} is your Assent code", verification.code()),
        context,
        unsubscribe_url: None,
    }))
}
