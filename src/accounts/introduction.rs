//! How an account is named to whoever reads a mailbox: by its id, when it was opened, and by its
//! display name where that is a name.
//!
//! Anybody can sign up with anybody's address, so a display name is a stranger's text.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use regex::Regex;
use serde::Serialize;

use super::account::Account;
use crate::types::ids::AccountId;

const MAX_CHARACTERS: usize = 40;
/// Longer names than that exist; they are left out, as sentences are.
const MAX_WORDS: usize = 4;

/// Letters of any script with few marks each, spaces, apostrophes, hyphens, and dots that end a word,
/// so that nothing becomes a link.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\p{L}\p{M}{0,3}|[ '’-]|\.(?: |$))+$").expect("a valid expression")
});

/// The display name, if it is one that may stand in a mail to somebody who may not know it.
pub fn shown_name(display_name: &str) -> Option<&str> {
    let shown = display_name.chars().count() <= MAX_CHARACTERS
        && display_name.split_whitespace().count() <= MAX_WORDS
        && display_name.contains(char::is_alphabetic)
        && NAME.is_match(display_name);
    shown.then_some(display_name)
}

/// A time formatted for display, in UTC.
pub fn moment(time: DateTime<Utc>) -> String {
    time.format("%-d %B %Y, %H:%M UTC").to_string()
}

/// What mails and pages say of an account.
#[derive(Clone, Debug, Serialize)]
pub struct Introduction {
    pub account_id: AccountId,
    pub name: Option<String>,
    /// For people, in UTC.
    pub opened: String,
}

impl Introduction {
    pub fn new(account_id: &AccountId, display_name: &str, opened_at: DateTime<Utc>) -> Self {
        Self {
            account_id: account_id.clone(),
            name: shown_name(display_name).map(str::to_owned),
            opened: moment(opened_at),
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
