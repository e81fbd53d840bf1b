//! The mail that confirms the deletion of an account. It belongs to no account, because mails of an
//! account are deleted with it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::accounts::account::Account;
use crate::accounts::mails::owners_mail::receives_notifications;
use crate::accounts::mails::recipient;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Outbox};
use crate::infra::smtp::{Notice, Recipient, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;

#[derive(Deserialize, Serialize)]
struct Deleted {
    to: String,
    account_id: String,
    at: DateTime<Utc>,
    /// Stored in the mail, because the preferences of the owner are deleted too.
    #[serde(default)]
    recipient: Recipient,
}

/// Queues the mail; `None` where no mail is due.
pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    account: &Account,
) -> Result<Option<ClaimedMail>> {
    if !receives_notifications(account) {
        return Ok(None);
    }
    let (to, account_id) = (account.email.clone(), account.account_id.to_string());
    let recipient = recipient::of(connection, &to).await?;
    let deleted = Deleted { to, account_id, at: clock.now(), recipient };
    let new = NewMail { kind: Kind::AccountDeleted, account_id: None, pixel_id: None };
    outbox.put(connection, new, &deleted).await
}

pub fn send(infra: &Infra, mail: Option<ClaimedMail>) {
    let Some(mail) = mail else { return };
    infra.spawn(|infra| async move {
        let rendered = rendered(&infra.outbox, infra.base_url(), &mail);
        if let Err(error) = infra.outbox.deliver(&mail, rendered).await {
            tracing::error!(?error, "a rejected mail could not be removed from the outbox");
        }
    });
}

pub fn rendered(
    outbox: &Outbox,
    base_url: &str,
    mail: &ClaimedMail,
) -> Result<Option<RenderedMail>> {
    let Deleted { to, account_id, at, recipient } = outbox.secrets::<Deleted>(mail)?;
    let notice = Notice {
        subject: tr("Your Assent account was deleted"),
        paragraphs: vec![
            tr(
                "The account {{ account_id }} and all its data were deleted on {{ time }}. Nothing more is charged.",
            )
            .with("account_id", account_id)
            .with("time", Message::Moment(at)),
            tr("You can remove the snippet from your sites: it no longer does anything."),
            tr(
                "If you did not delete it, contact the operator of this service, and change the password of your mailbox: whoever deleted it has read an email with a code.",
            ),
        ],
        ..Notice::default()
    };
    let to = Email::parse(&to)?.address().map_err(Error::internal)?;
    notice.rendered(to, recipient, base_url).map(Some).map_err(Error::internal)
}
