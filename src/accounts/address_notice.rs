//! The mail that tells an address that it is no longer the one of an account.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use tracing::Instrument;

use super::account::Account;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Retry};
use crate::infra::smtp::{Letter, Notice};
use crate::types::email::Email;

/// What the old address is told; it is in no other table any more.
#[derive(Deserialize, Serialize)]
struct Moved {
    from: String,
    to: String,
}

/// Puts the mail into the outbox; `None` where no mail server is configured.
pub async fn put(
    connection: &mut PgConnection,
    infra: &Infra,
    account: &Account,
    to: &Email,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::AddressChanged, account_id, pixel_id: None };
    let moved = Moved { from: account.email.clone(), to: to.as_str().to_owned() };
    infra.outbox.put(connection, new, &moved).await
}

/// Sends it in a task of its own.
pub fn send(infra: &Infra, mail: Option<ClaimedMail>) {
    let Some(mail) = mail else { return };
    let (infra, held) = (infra.clone(), infra.ending.hold());
    let sending = async move {
        let _held = held;
        infra.outbox.attempt(&mail, letter(&infra, &mail), Retry::UnlessRefused).await;
    };
    tokio::spawn(sending.in_current_span());
}

/// The mail as it is written for an attempt.
pub fn letter(infra: &Infra, mail: &ClaimedMail) -> Result<Option<Letter>> {
    let Moved { from, to } = infra.outbox.secrets(mail)?;
    let account_id = mail.account_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let notice = Notice {
        subject: "Your Assent account has another address".to_owned(),
        paragraphs: vec![
            format!(
                "From now on the account {account_id} is written to at {to}, and this address no \
                 longer opens it."
            ),
            "If it was not you who changed that, somebody has a full key of the account and reads \
             the new mailbox: write to whoever runs this service at once."
                .to_owned(),
        ],
        ..Notice::default()
    };
    let to = Email::parse(&from)?.address().map_err(Error::internal)?;
    notice.letter(to, infra.base_url()).map(Some).map_err(Error::internal)
}
