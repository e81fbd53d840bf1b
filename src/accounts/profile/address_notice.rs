use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::accounts::account::Account;
use crate::accounts::introduction::moment;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Retry};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::types::email::Email;

#[derive(Deserialize, Serialize)]
struct Moved {
    from: String,
    to: String,
}

#[derive(Deserialize, Serialize)]
pub enum Step {
    /// Sent to the current mailbox, with the token of the link that cancels the change.
    AskedAtPresent { token: String, asked_by: String },
    /// Sent to the new mailbox.
    AskedAtNew,
    /// Sent to the current mailbox: the new address has been used for another account.
    Taken,
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
    infra: &Infra,
    account: &Account,
    to: &Email,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::AddressChanged, account_id, pixel_id: None };
    let moved = Moved { from: account.email.clone(), to: to.as_str().to_owned() };
    infra.outbox.put(connection, new, &moved).await
}

pub async fn put_step(
    connection: &mut PgConnection,
    infra: &Infra,
    account: &Account,
    new_address: &Email,
    takes_effect_at: Option<DateTime<Utc>>,
    step: Step,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::AddressWaiting, account_id, pixel_id: None };
    let (present, address) = (account.email.clone(), new_address.as_str().to_owned());
    let waiting = Waiting { present, new: address, takes_effect_at, step };
    infra.outbox.put(connection, new, &waiting).await
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
    let (to, notice) = match mail.kind {
        Kind::AddressChanged => {
            let moved = infra.outbox.secrets::<Moved>(mail)?;
            (moved.from.clone(), moved_notice(&account_id, &moved))
        }
        _ => {
            let waiting = infra.outbox.secrets::<Waiting>(mail)?;
            if !matches!(waiting.step, Step::Taken) && !is_current(infra, mail, &waiting).await? {
                return Ok(None);
            }
            waiting_notice(infra.base_url(), &account_id, waiting)
        }
    };
    let to = Email::parse(&to)?.address().map_err(Error::internal)?;
    notice.rendered(to, infra.base_url()).map(Some).map_err(Error::internal)
}

async fn is_current(infra: &Infra, mail: &ClaimedMail, waiting: &Waiting) -> Result<bool> {
    let Some(account_id) = &mail.account_id else { return Ok(false) };
    let mut connection = infra.pool.acquire().await?;
    let change = store::find_address_change(&mut connection, account_id).await?;
    Ok(change.is_some_and(|change| {
        change.new_address == waiting.new && Some(change.takes_effect_at) == waiting.takes_effect_at
    }))
}

fn moved_notice(account_id: &str, Moved { to, .. }: &Moved) -> Notice {
    Notice {
        subject: "Your Assent account has another address".to_owned(),
        paragraphs: vec![
            format!(
                "From now on the account {account_id} is written to at {to}, and this address no \
                 longer opens it."
            ),
            "If it was not you who changed that, write to whoever runs this service at once: somebody \
             has access to the account, and has either read this mailbox or waited for the days in \
             which it could have been cancelled here."
                .to_owned(),
        ],
        ..Notice::default()
    }
}

fn waiting_notice(base_url: &str, account_id: &str, waiting: Waiting) -> (String, Notice) {
    let Waiting { present, new, takes_effect_at, step } = waiting;
    let at = takes_effect_at.map(moment).unwrap_or_default();
    match step {
        Step::AskedAtPresent { token, asked_by } => {
            let url = format!("{base_url}/v1/email/address-change?token={token}");
            let notice = Notice {
                subject: "Your Assent account is to have another address".to_owned(),
                paragraphs: vec![
                    format!(
                        "Somebody asked that the account {account_id} be written to at another \
                         address, without a code of this mailbox. So nothing changes before {at}: \
                         until then codes and all other mails still come here."
                    ),
                    "Was it you? Then there is nothing to do. If not, cancel the change now: that also \
                     ends keys, members and sign-ins that were made since."
                        .to_owned(),
                ],
                facts: vec![("New address", new), ("Asked by", asked_by), ("Takes effect", at)],
                link: Some(NoticeLink { label: "Cancel the change", url }),
                ..Notice::default()
            };
            (present, notice)
        }
        Step::AskedAtNew => {
            let notice = Notice {
                subject: "An Assent account is to have this address".to_owned(),
                paragraphs: vec![
                    format!(
                        "The account {account_id} will be written to at this address from {at} on, \
                         unless the change is cancelled from its present mailbox before. Until then \
                         codes go there."
                    ),
                    "There is nothing to do. You do not know the account? Then leave this mail alone: \
                     the change was confirmed with a code that was mailed to you."
                        .to_owned(),
                ],
                ..Notice::default()
            };
            (new, notice)
        }
        Step::Taken => {
            let notice = Notice {
                subject: "Your Assent account keeps its address".to_owned(),
                paragraphs: vec![format!(
                    "The account {account_id} was to be written to at {new} from now on. That address \
                     has an account of its own by now, so everything stays as it is."
                )],
                ..Notice::default()
            };
            (present, notice)
        }
    }
}
