use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::facts::{moment, shown};
use super::owners_mail::receives_notifications;
use crate::accounts::account::Account;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail};
use crate::infra::smtp::{Notice, NoticeLink};

#[derive(Deserialize, Serialize)]
pub struct ChangedPasskey {
    pub address: String,
    pub name: String,
    pub at: DateTime<Utc>,
    pub is_added: bool,
}

/// Queues the mail to the person; `None` where no mail is due.
pub async fn put_changed_passkey(
    connection: &mut PgConnection,
    infra: &Infra,
    account: &Account,
    change: &ChangedPasskey,
) -> Result<Option<ClaimedMail>> {
    if !receives_notifications(account) {
        return Ok(None);
    }
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::ChangedPasskey, account_id, pixel_id: None };
    infra.outbox.put(connection, new, change).await
}

pub fn passkey_notice(infra: &Infra, change: &ChangedPasskey) -> Notice {
    let url = format!("{}/console/account#passkeys", infra.base_url());
    let (subject, otherwise) = match change.is_added {
        true => (
            "A passkey was added to your sign-in",
            "If not, remove the passkey in the console, and change the password of your mailbox.",
        ),
        false => (
            "A passkey was removed from your sign-in",
            "If not, change the password of your mailbox, and end the other sessions in the console.",
        ),
    };
    Notice {
        subject: subject.to_owned(),
        paragraphs: vec![
            "Passkeys sign you in to the console of Assent without a code.".to_owned(),
            format!("Was it you? Then there is nothing to do. {otherwise}"),
        ],
        facts: vec![
            ("Address", change.address.clone()),
            ("Passkey", shown(&change.name)),
            ("Time", moment(change.at)),
        ],
        link: Some(NoticeLink { label: "See your passkeys", url }),
        ..Notice::default()
    }
}
