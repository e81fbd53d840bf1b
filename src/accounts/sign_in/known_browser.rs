//! Browsers that have signed in with a mailbox before, identified by a long-lived cookie. Their
//! sign-ins have separate buckets, so that strangers who exhaust those of the mailbox cannot lock
//! its owner out. The cookie grants no access: a sign-in still needs the mailed digits. The value
//! is a random id and, for each mailbox, the day of the last sign-in and a signature over id, day
//! and mailbox, separated by dots. The value does not contain the mailbox.

use chrono::{DateTime, Duration, Utc};

use crate::config::Secret;
use crate::infra::encryption::{Purpose, TokenSigner};
use crate::types::ids::random_text;
use crate::types::mailbox::Mailbox;

/// The lifetime of the cookie; browsers limit it to 400 days.
pub const KNOWN_LIFE: Duration = Duration::days(400);
const ID_LEN: usize = 22;
const MOST_MAILBOXES: usize = 5;

pub struct KnownBrowser {
    id: String,
}

impl KnownBrowser {
    pub fn id(&self) -> &str {
        &self.id
    }
}

pub struct KnownBrowsers {
    signer: TokenSigner,
    today: i64,
}

impl KnownBrowsers {
    pub fn new(secrets: &[Secret], now: DateTime<Utc>) -> Self {
        let today = now.timestamp() / Duration::days(1).num_seconds();
        Self { signer: TokenSigner::new(secrets, Purpose::KnownBrowsers), today }
    }

    pub fn find(&self, cookie: &str, mailbox: &Mailbox) -> Option<KnownBrowser> {
        let (id, entries) = split(cookie)?;
        let is_known = entries.iter().any(|entry| self.is_of(id, entry, mailbox));
        is_known.then(|| KnownBrowser { id: id.to_owned() })
    }

    /// The cookie for a browser that has just signed in with the mailbox: the entry of the mailbox
    /// and those of the current cookie. `None` where no secret is configured.
    pub fn remember(&self, cookie: Option<&str>, mailbox: &Mailbox) -> Option<String> {
        let random = random_text(ID_LEN);
        let (id, entries) = cookie.and_then(split).unwrap_or((&random, Vec::new()));
        let day = self.today;
        let signature = self.signer.sign(&signed_text(id, day, mailbox))?;
        let others = entries.into_iter().filter(|entry| !self.is_of(id, entry, mailbox));
        let others = others.filter(|entry| self.is_recent(entry)).map(Entry::text);
        let own = Entry { day, signature: &signature }.text();
        let entries = [own].into_iter().chain(others).take(MOST_MAILBOXES);
        Some([id.to_owned()].into_iter().chain(entries).collect::<Vec<_>>().join("."))
    }

    fn is_of(&self, id: &str, entry: &Entry<'_>, mailbox: &Mailbox) -> bool {
        self.is_recent(entry)
            && self.signer.verify(&signed_text(id, entry.day, mailbox), entry.signature)
    }

    fn is_recent(&self, entry: &Entry<'_>) -> bool {
        (0..KNOWN_LIFE.num_days()).contains(&(self.today - entry.day))
    }
}

struct Entry<'a> {
    day: i64,
    signature: &'a str,
}

impl Entry<'_> {
    fn text(self) -> String {
        format!("{}-{}", self.day, self.signature)
    }
}

fn split(cookie: &str) -> Option<(&str, Vec<Entry<'_>>)> {
    let (id, entries) = cookie.split_once('.')?;
    let is_id = id.len() == ID_LEN && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let entries = entries.split('.').take(MOST_MAILBOXES).map(|entry| {
        let (day, signature) = entry.split_once('-')?;
        let is_hex = signature.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_signature = signature.len() == 64 && is_hex;
        Some(Entry { day: day.parse().ok()?, signature }).filter(|_| is_signature)
    });
    let entries = entries.collect::<Option<Vec<_>>>()?;
    is_id.then_some((id, entries))
}

fn signed_text(id: &str, day: i64, mailbox: &Mailbox) -> String {
    format!("{id} {day} {}", mailbox.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::email::Email;

    fn browsers(secret: &str, day: i64) -> KnownBrowsers {
        let now = DateTime::from_timestamp(day * 86_400 + 7, 0).unwrap();
        KnownBrowsers::new(&[Secret::new(secret)], now)
    }

    fn mailbox(address: &str) -> Mailbox {
        Mailbox::of(&Email::parse(address).unwrap())
    }

    #[test]
    fn a_browser_is_known_for_the_mailboxes_that_it_has_signed_in_to() {
        let known = browsers("secret", 20_000);
        let (ann, bob) = (mailbox("ann@shop.example"), mailbox("bob@shop.example"));
        let cookie = known.remember(None, &ann).unwrap();
        assert!(known.find(&cookie, &mailbox("Ann+x@shop.example")).is_some());
        assert!(known.find(&cookie, &bob).is_none());
        let both = known.remember(Some(&cookie), &bob).unwrap();
        let ids = [&ann, &bob].map(|mailbox| known.find(&both, mailbox).unwrap().id);
        assert_eq!(ids[0], ids[1]);
        assert!(both.len() < 200);
    }

    #[test]
    fn a_known_browser_expires_after_400_days_and_with_the_secret() {
        let ann = mailbox("ann@shop.example");
        let cookie = browsers("secret", 20_000).remember(None, &ann).unwrap();
        assert!(browsers("secret", 20_399).find(&cookie, &ann).is_some());
        assert!(browsers("secret", 20_400).find(&cookie, &ann).is_none());
        assert!(browsers("secret", 19_999).find(&cookie, &ann).is_none());
        assert!(browsers("other", 20_000).find(&cookie, &ann).is_none());
    }

    #[test]
    fn a_forged_cookie_is_ignored_and_replaced() {
        let known = browsers("secret", 20_000);
        let ann = mailbox("ann@shop.example");
        let cookie = known.remember(None, &ann).unwrap();
        let (id, rest) = cookie.split_once('.').unwrap();
        let other_id = format!("{}.{rest}", id.chars().rev().collect::<String>());
        let no_cookie = "x".repeat(5_000);
        for forged in [&*other_id, "", ".", id, &no_cookie, &cookie.replace("20000", "20001")] {
            assert!(known.find(forged, &ann).is_none(), "{forged}");
            assert!(known.remember(Some(forged), &ann).unwrap().len() < 200);
        }
    }

    #[test]
    fn the_mailboxes_signed_in_to_last_are_kept() {
        let known = browsers("secret", 20_000);
        let all = (0..9).map(|number| mailbox(&format!("m{number}@shop.example")));
        let all = all.collect::<Vec<_>>();
        let cookie = all.iter().fold(None, |cookie: Option<String>, mailbox| {
            known.remember(cookie.as_deref(), mailbox)
        });
        let is_known =
            |mailbox: &Mailbox| known.find(cookie.as_deref().unwrap(), mailbox).is_some();
        assert_eq!(all.iter().filter(|mailbox| is_known(mailbox)).count(), MOST_MAILBOXES);
        assert!(is_known(&all[8]) && !is_known(&all[3]));
    }
}
