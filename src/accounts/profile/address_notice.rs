use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};

use crate::accounts::account::Account;
use crate::accounts::mails::facts::maker;
use crate::accounts::mails::recipient;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Outbox, Retry};
use crate::infra::requested_language::Requested;
use crate::infra::smtp::{Notice, NoticeLink, Recipient, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;

#[derive(Deserialize, Serialize)]
struct Moved {
    from: String,
    to: String,
    /// Kept, because the new address may choose another language.
    #[serde(default)]
    recipient: Recipient,
    #[serde(default)]
    made_by: MadeBy,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum MadeBy {
    /// A member or a key of the account.
    #[default]
    Account,
    Operator,
}

#[derive(Deserialize, Serialize)]
pub enum Step {
    /// Sent to the current mailbox, with the token of the link that cancels the change.
    AskedAtPresent { token: String, asked_by: String },
    /// Sent to the new mailbox.
    AskedAtNew,
    /// Sent to the current mailbox: the new address has been used for another account.
    Taken,
    /// Sent to the new mailbox: the operator has changed the address.
    SetByOperator,
}

impl Step {
    fn is_pending(&self) -> bool {
        matches!(self, Self::AskedAtPresent { .. } | Self::AskedAtNew)
    }
}

#[derive(Deserialize, Serialize)]
struct Waiting {
    present: String,
    new: String,
    takes_effect_at: Option<DateTime<Utc>>,
    step: Step,
}

/// Queues the mail about a completed change; `None` where no mail server is configured.
pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account: &Account,
    to: &Email,
    made_by: MadeBy,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::AddressChanged, account_id, pixel_id: None };
    let recipient = recipient::of(connection, &account.email).await?;
    let (from, to) = (account.email.clone(), to.as_str().to_owned());
    let moved = Moved { from, to, recipient, made_by };
    outbox.put(connection, new, &moved).await
}

pub async fn put_step(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account: &Account,
    new_address: &Email,
    takes_effect_at: Option<DateTime<Utc>>,
    step: Step,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::AddressWaiting, account_id, pixel_id: None };
    let (present, address) = (account.email.clone(), new_address.as_str().to_owned());
    let waiting = Waiting { present, new: address, takes_effect_at, step };
    outbox.put(connection, new, &waiting).await
}

pub fn send(infra: &Infra, mail: Option<ClaimedMail>) {
    let Some(mail) = mail else { return };
    infra.spawn(|infra| async move {
        let rendered = rendered(&infra, &mail).await;
        infra.outbox.attempt(&mail, rendered, Retry::UnlessRefused).await;
    });
}

pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let account_id = mail.account_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let (to, recipient, notice) = match mail.kind {
        Kind::AddressChanged => {
            let moved = infra.outbox.secrets::<Moved>(mail)?;
            let notice = match moved.made_by {
                MadeBy::Account => moved_notice(&account_id, &moved),
                MadeBy::Operator => moved_by_operator(infra.base_url(), &account_id, &moved),
            };
            (moved.from, moved.recipient, notice)
        }
        _ => {
            let waiting = infra.outbox.secrets::<Waiting>(mail)?;
            if waiting.step.is_pending() && !is_current(&infra.pool, mail, &waiting).await? {
                return Ok(None);
            }
            let recipient = recipient_of(&infra.pool, &waiting).await?;
            let (to, notice) = waiting_notice(infra.base_url(), &account_id, waiting);
            (to, recipient, notice)
        }
    };
    let to = Email::parse(&to)?.address().map_err(Error::internal)?;
    notice.rendered(to, recipient, infra.base_url()).map(Some).map_err(Error::internal)
}

/// The language of the account's owner applies to the new mailbox too, unless its reader has chosen another.
async fn recipient_of(pool: &PgPool, waiting: &Waiting) -> Result<Recipient> {
    let mut connection = pool.acquire().await?;
    let owner = recipient::of(&mut connection, &waiting.present).await?;
    match waiting.step {
        Step::AskedAtNew | Step::SetByOperator => {
            let language = Requested(Some(owner.language));
            recipient::in_language_of(&mut connection, &waiting.new, language).await
        }
        Step::AskedAtPresent { .. } | Step::Taken => Ok(owner),
    }
}

async fn is_current(pool: &PgPool, mail: &ClaimedMail, waiting: &Waiting) -> Result<bool> {
    let Some(account_id) = &mail.account_id else { return Ok(false) };
    let mut connection = pool.acquire().await?;
    let change = store::find_address_change(&mut connection, account_id).await?;
    Ok(change.is_some_and(|change| {
        change.new_address == waiting.new && Some(change.takes_effect_at) == waiting.takes_effect_at
    }))
}

fn moved_notice(account_id: &str, Moved { to, .. }: &Moved) -> Notice {
    Notice {
        subject: tr("The email of your Assent account was changed"),
        paragraphs: vec![
            tr(
                "The email of the account {{ account_id }} is now {{ address }}. You can no longer sign in to it with this address.",
            )
            .with("account_id", account_id)
            .with("address", to),
            tr(
                "If you did not change it, contact the operator of this service immediately: someone has access to the account, and has either read this mailbox or waited until the change could no longer be cancelled here.",
            ),
        ],
        ..Notice::default()
    }
}

fn moved_by_operator(base_url: &str, account_id: &str, Moved { to, .. }: &Moved) -> Notice {
    Notice {
        subject: tr("The email of your Assent account was changed"),
        paragraphs: vec![
            tr(
                "The operator of this service has changed the email of the account {{ account_id }} to {{ address }}, because its owner asked for it without access to this mailbox. You can no longer sign in to it with this address.",
            )
            .with("account_id", account_id)
            .with("address", to),
            tr(
                "If you are the owner and did not ask for it, contact the operator immediately.",
            ),
        ],
        link: Some(NoticeLink {
            label: tr("Contact the operator"),
            url: format!("{base_url}/contact"),
        }),
        ..Notice::default()
    }
}

fn set_by_operator(base_url: &str, account_id: &str) -> Notice {
    Notice {
        subject: tr("This address is now the email of your Assent account"),
        paragraphs: vec![
            tr(
                "The operator of this service has made this address the email of the account {{ account_id }}. Everyone who was signed in with the former address is signed out, and codes are now sent here.",
            )
            .with("account_id", account_id),
            tr(
                "Passkeys of the former address no longer open the account: add new ones after signing in. If you do not know the account, contact the operator.",
            ),
        ],
        link: Some(NoticeLink {
            label: tr("Sign in"),
            url: format!("{base_url}/console/sign-in"),
        }),
        ..Notice::default()
    }
}

/// The recipient address and the notice about a change that is pending, has failed, or was made by the operator.
fn waiting_notice(base_url: &str, account_id: &str, waiting: Waiting) -> (String, Notice) {
    let Waiting { present, new, takes_effect_at, step } = waiting;
    let at = takes_effect_at.map_or(Message::plain(""), Message::Moment);
    match step {
        Step::AskedAtPresent { token, asked_by } => {
            let url = format!("{base_url}/v1/email/address-change?token={token}");
            (present, asked_at_present(account_id, new, maker(asked_by), at, url))
        }
        Step::AskedAtNew => (new, asked_at_new(account_id, at)),
        Step::Taken => (present, taken(account_id, &new)),
        Step::SetByOperator => (new, set_by_operator(base_url, account_id)),
    }
}

fn asked_at_present(
    account_id: &str,
    new: String,
    asked_by: Message,
    at: Message,
    url: String,
) -> Notice {
    Notice {
        subject: tr("A change of your Assent account’s email was requested"),
        paragraphs: vec![
            tr(
                "Someone requested another email for the account {{ account_id }}, without a code from this mailbox. Nothing changes before {{ time }}: until then, codes and all other emails are still sent here.",
            )
            .with("account_id", account_id)
            .with("time", &at),
            tr(
                "If it was you, you can ignore this email. If not, cancel the change now: that also revokes keys, removes members and signs out sessions that were created since.",
            ),
        ],
        facts: vec![
            (tr("New email"), new.into()),
            (tr("Requested by"), asked_by),
            (tr("Takes effect"), at),
        ],
        link: Some(NoticeLink { label: tr("Cancel the change"), url }),
        ..Notice::default()
    }
}

fn asked_at_new(account_id: &str, at: Message) -> Notice {
    Notice {
        subject: tr("This address becomes the email of an Assent account"),
        paragraphs: vec![
            tr(
                "From {{ time }}, this address is the email of the account {{ account_id }}, unless the change is cancelled from the current mailbox. Until then, codes are sent there.",
            )
            .with("time", at)
            .with("account_id", account_id),
            tr(
                "You do not have to do anything. If you do not know the account, ignore this email: the change was confirmed with a code that was sent to you.",
            ),
        ],
        ..Notice::default()
    }
}

fn taken(account_id: &str, new: &str) -> Notice {
    let paragraph = tr(
        "The email of the account {{ account_id }} was going to be {{ address }}. That address now has its own account, so nothing was changed.",
    );
    Notice {
        subject: tr("The email of your Assent account is unchanged"),
        paragraphs: vec![paragraph.with("account_id", account_id).with("address", new)],
        ..Notice::default()
    }
}
