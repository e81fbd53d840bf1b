use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::code_purpose::CodePurpose;
use crate::accounts::mails::recipient;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail, Outbox, Retry};
use crate::infra::requested_language::Requested;
use crate::infra::smtp::RenderedMail;
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;
use crate::types::ids::AccountId;

#[derive(Deserialize, Serialize)]
pub struct MailedCode {
    to: String,
    purpose: CodePurpose,
    code: String,
    expires_at: DateTime<Utc>,
    #[serde(default)]
    for_present: bool,
    #[serde(default)]
    requested: Requested,
}

impl MailedCode {
    pub fn new(
        to: &Email,
        purpose: CodePurpose,
        code: String,
        expires_at: DateTime<Utc>,
        for_present: bool,
    ) -> Self {
        // A mail to the current mailbox is also a warning, so the requester must not choose its language.
        let requested = if for_present { Requested::default() } else { Requested::current() };
        Self { to: to.as_str().to_owned(), purpose, code, expires_at, for_present, requested }
    }
}

/// Queues the mail; `None` where no mail server is configured. It is deleted with the account, if any.
pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account_id: Option<&AccountId>,
    code: &MailedCode,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind: Kind::AccountCode, account_id, pixel_id: None };
    outbox.put(connection, new, code).await
}

/// Makes one delivery attempt. Returns `false` and removes the mail when it is refused permanently.
pub async fn attempt_once(infra: &Infra, mail: Option<ClaimedMail>) -> Result<bool> {
    let Some(mail) = mail else { return Ok(true) };
    let rendered = rendered(infra, &mail).await;
    if infra.outbox.attempt(&mail, rendered, Retry::UnlessRefused).await != Attempt::Failed {
        return Ok(true);
    }
    let mut connection = infra.pool.acquire().await?;
    infra.outbox.cancel(&mut connection, &mail).await.map(|_| false)
}

pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let MailedCode { to, purpose, code, expires_at, for_present, requested } =
        infra.outbox.secrets(mail)?;
    if expires_at <= infra.clock.now() {
        return Ok(None);
    }
    let (heading, sentence) = if for_present { AWAY } else { words(purpose) };
    let mut connection = infra.pool.acquire().await?;
    let recipient = recipient::in_language_of(&mut connection, &to, requested).await?;
    Ok(Some(RenderedMail {
        to: Email::parse(&to)?.address().map_err(Error::internal)?,
        subject: tr("{{ code }} is your Assent code").with("code", &code),
        values: json!({
            "heading": heading, "sentence": sentence, "code": code, "base_url": infra.base_url(),
        }),
        recipient,
        unsubscribe_url: None,
    }))
}

const AWAY: (Message, Message) = (
    tr("Change the account’s email"),
    tr(
        "Someone requested another email for your Assent account. This code, together with the one sent to the new mailbox, changes it immediately:",
    ),
);

fn words(purpose: CodePurpose) -> (Message, Message) {
    match purpose {
        CodePurpose::SignIn => (tr("Sign in"), tr("This code signs you in:")),
        CodePurpose::ChangeEmail => (
            tr("Confirm your new email"),
            tr("This code makes this address the email of an Assent account:"),
        ),
        CodePurpose::DeleteAccount => (
            tr("Delete account"),
            tr(
                "This code permanently deletes your Assent account with all sites, contacts and receipts:",
            ),
        ),
        CodePurpose::Keys => (
            tr("Confirm it’s you"),
            tr(
                "This code confirms a sensitive action in your Assent account, such as creating a key, changing members, or exporting all data:",
            ),
        ),
    }
}
