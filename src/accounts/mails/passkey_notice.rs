use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::facts::shown;
use crate::infra::smtp::{Notice, NoticeLink};
use crate::infra::templates::{Message, tr};

#[derive(Deserialize, Serialize)]
pub struct ChangedPasskey {
    pub address: String,
    pub name: String,
    pub at: DateTime<Utc>,
    pub is_added: bool,
}

pub fn passkey_notice(base_url: &str, change: &ChangedPasskey) -> Notice {
    let url = format!("{base_url}/console/account#passkeys");
    let (subject, if_not) = match change.is_added {
        true => (
            tr("A passkey was added to your sign-in"),
            tr(
                "If it was you, you can ignore this email. If not, remove the passkey in the console, and change the password of your mailbox.",
            ),
        ),
        false => (
            tr("A passkey was removed from your sign-in"),
            tr(
                "If it was you, you can ignore this email. If not, change the password of your mailbox, and sign out the other sessions in the console.",
            ),
        ),
    };
    Notice {
        subject,
        paragraphs: vec![
            tr("Passkeys sign you in to the console of Assent without a code."),
            if_not,
        ],
        facts: vec![
            (tr("Address"), change.address.clone().into()),
            (tr("Passkey"), shown(&change.name)),
            (tr("Time"), Message::Moment(change.at)),
        ],
        link: Some(NoticeLink { label: tr("View passkeys"), url }),
        ..Notice::default()
    }
}
