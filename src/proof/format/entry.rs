//! Entries of the log: plain text with a hash and a time.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, Utc};

use super::hashes::Hash;
use crate::clock::rfc3339;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The canonical JSON of a policy, whose hash is in receipts.
    Policy,
    /// A policy's notice as plain text in one language.
    Notice,
    /// A build of the consent tag, with `__ASSENT_CONFIG__` in place of its configuration.
    Script,
    /// The `report.json` of a watcher.
    Watch,
    /// The list of the pictures of a popup.
    Screenshots,
}

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::Policy, Self::Notice, Self::Script, Self::Watch, Self::Screenshots];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Notice => "notice",
            Self::Script => "script",
            Self::Watch => "watch",
            Self::Screenshots => "screenshots",
        }
    }
}

pub fn publication(kind: Kind, sha256: &Hash, at: DateTime<Utc>) -> String {
    format!("{}{}\n", publication_until_time(kind.as_str(), &hex::encode(sha256)), rfc3339(at))
}

/// The entry of the choices of an epoch: the root of their tree.
pub fn choices(root: &Hash, at: DateTime<Utc>) -> String {
    format!("{}{}\n", choices_until_time(root), rfc3339(at))
}

/// The first entry of a log that continues one of another name: the last signed state of that log.
pub fn continuation(note: &str) -> String {
    format!("assent/continuation/v1\n{note}")
}

/// The time in the entry of this publication; `None` for other entries.
pub fn time_of_publication<'e>(entry: &'e str, kind: &str, sha256: &str) -> Option<&'e str> {
    entry.strip_prefix(&publication_until_time(kind, sha256))?.strip_suffix('\n')
}

/// The time in the entry of the choices with this root; `None` for other entries.
pub fn time_of_choices<'e>(entry: &'e str, root: &Hash) -> Option<&'e str> {
    entry.strip_prefix(&choices_until_time(root))?.strip_suffix('\n')
}

/// A time in the form of entries and receipts. `None` for other text, which must not be shown as a time.
pub fn time(text: &str) -> Option<String> {
    let time = text.parse::<DateTime<Utc>>().ok();
    // Chrono parses a second 60 as a second with more than 999,999,999 nanoseconds.
    let time = time.filter(|time| time.timestamp_subsec_nanos() < 1_000_000_000).map(rfc3339);
    time.filter(|time| time == text)
}

fn publication_until_time(kind: &str, sha256: &str) -> String {
    format!("assent/publication/v1\nkind {kind}\nsha256 {sha256}\nat ")
}

fn choices_until_time(root: &Hash) -> String {
    format!("assent/choices/v1\nroot {}\nat ", BASE64_STANDARD.encode(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_what_kind_which_hash_and_when() {
        let at = DateTime::from_timestamp_millis(1_800_000_000_123).unwrap();
        let expected = format!(
            "assent/publication/v1\nkind notice\nsha256 {}\nat 2027-01-15T08:00:00.123Z\n",
            "ab".repeat(32)
        );
        let entry = publication(Kind::Notice, &[0xab; 32], at);
        assert_eq!(entry, expected);
        let time = Some("2027-01-15T08:00:00.123Z");
        assert_eq!(time_of_publication(&entry, "notice", &"ab".repeat(32)), time);
        assert_eq!(time_of_publication(&entry, "policy", &"ab".repeat(32)), None);
        let entry = choices(&[0; 32], at);
        let root = "A".repeat(43);
        let expected = format!("assent/choices/v1\nroot {root}=\nat 2027-01-15T08:00:00.123Z\n");
        assert_eq!(entry, expected);
        assert_eq!(time_of_choices(&entry, &[0; 32]), time);
        assert_eq!(time_of_choices(&entry, &[1; 32]), None);
    }
}
