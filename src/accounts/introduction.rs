//! The details by which mails and pages identify an account. Anybody can sign up with any address, so a
//! display name is untrusted text, which is shown only if it looks like a name.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use regex::Regex;
use serde::Serialize;

use super::account::Account;
use crate::infra::templates::Message;
use crate::types::ids::AccountId;

const MAX_CHARACTERS: usize = 40;
/// Longer names exist, but are not shown, because they cannot be told from sentences.
const MAX_WORDS: usize = 4;

/// Letters with few marks, spaces, apostrophes, hyphens, and dots that end a word, so that mail programs show no link.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\p{L}\p{M}{0,3}|[ '’-]|\.(?: |$))+$").expect("a valid expression")
});

/// The display name, if it may be shown to a reader who may not know the account.
pub fn shown_name(display_name: &str) -> Option<&str> {
    let shown = display_name.chars().count() <= MAX_CHARACTERS
        && display_name.split_whitespace().count() <= MAX_WORDS
        && display_name.contains(char::is_alphabetic)
        && NAME.is_match(display_name);
    shown.then_some(display_name)
}

#[derive(Clone, Debug, Serialize)]
pub struct Introduction {
    pub account_id: AccountId,
    pub name: Option<String>,
    pub opened: Message,
}

impl Introduction {
    pub fn new(account_id: &AccountId, display_name: &str, opened_at: DateTime<Utc>) -> Self {
        Self {
            account_id: account_id.clone(),
            name: shown_name(display_name).map(str::to_owned),
            opened: Message::Moment(opened_at),
        }
    }
}

impl From<&Account> for Introduction {
    fn from(account: &Account) -> Self {
        Self::new(&account.account_id, &account.display_name, account.created_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_script_are_names() {
        for name in [
            "Ann",
            "Ann Lee",
            "Seán O’Brien-Smith",
            "J. R. O'Neil",
            "Jose\u{301} Núñez",
            "Nguyễn Thị Minh Khai",
            "李小龍",
            "Владимир",
            "محمد علي",
            "अनुष्का शर्मा",
            "ยิ่งลักษณ์",
        ] {
            assert_eq!(shown_name(name), Some(name));
        }
    }

    #[test]
    fn sentences_links_and_drawings_are_none() {
        for text in [
            "",
            " . ",
            "--",
            "shop.example",
            "shop. example.com",
            "Call 0900",
            "Ann: read this",
            "Ann/Bob",
            "<b>Ann</b>",
            "ann@shop.example",
            "Ann\r\nBcc",
            "Ann\tLee",
            "You have won a prize",
            "Ann\u{202e}Lee",
            "Ann\u{2028}Lee",
            "Z\u{300}\u{301}\u{302}\u{303}algo",
            "😀 Ann",
            &"x".repeat(41),
        ] {
            assert_eq!(shown_name(text), None, "{text:?}");
        }
    }
}
