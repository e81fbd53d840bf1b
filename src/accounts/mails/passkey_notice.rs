use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::facts::{moment, shown};
use crate::infra::Infra;
use crate::infra::smtp::{Notice, NoticeLink};

#[derive(Deserialize, Serialize)]
pub struct ChangedPasskey {
    pub address: String,
    pub name: String,
    pub at: DateTime<Utc>,
    pub is_added: bool,
}

pub fn passkey_notice(infra: &Infra, change: &ChangedPasskey) -> Notice {
    let url = format!("{}/console/account#passkeys", infra.base_url());
    let (subject, otherwise) = match change.is_added {
        true => (
            "A passkey was added to your sign-in",
            "remove the passkey in the console, and change the password of your mailbox.",
        ),
        false => (
            "A passkey was removed from your sign-in",
            "change the password of your mailbox, and sign out the other sessions in the console.",
        ),
    };
    Notice {
        subject: subject.to_owned(),
        paragraphs: vec![
            "Passkeys sign you in to the console of Assent without a code.".to_owned(),
            format!("If it was you, you can ignore this email. If not, {otherwise}"),
        ],
        facts: vec![
            ("Address", change.address.clone()),
            ("Passkey", shown(&change.name)),
            ("Time", moment(change.at)),
        ],
        link: Some(NoticeLink { label: "View passkeys", url }),
        ..Notice::default()
    }
}
