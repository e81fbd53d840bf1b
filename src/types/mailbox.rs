//! Mailboxes: one value for all spellings of an address that are delivered to the same person. Clients
//! choose the spelling of the address that a mail is requested for, so limits per mailbox must not depend on
//! it. Case, Unicode compatibility forms, quotes (RFC 5321) and a subaddress after `+` (RFC 5233) are
//! removed for every domain; the rules of large providers are in [`PROVIDERS`]. Equivalences that only a
//! small provider has (a catch-all domain, another separator) are not recognised.

use unicode_normalization::UnicodeNormalization;

use super::email::Email;

/// A normalised mailbox, not an address to send to. No `Debug`, so that it is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Mailbox {
    text: String,
    has_subaddress: bool,
}

struct Provider {
    /// Equivalent domains. The first one is used in the normalised form.
    domains: &'static [&'static str],
    ignored: &'static [char],
    alias: Option<(char, char)>,
    /// Separators of a subaddress in addition to `+`.
    separators: &'static [char],
}

/// A provider without rules of its own: every character is significant.
const PLAIN: Provider = Provider { domains: &[], ignored: &[], alias: None, separators: &[] };

const PROVIDERS: &[Provider] = &[
    Provider { domains: &["gmail.com", "googlemail.com"], ignored: &['.'], ..PLAIN },
    Provider {
        domains: &["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
        ignored: &['.', '-', '_'],
        ..PLAIN
    },
    Provider { domains: &["icloud.com", "me.com", "mac.com"], ..PLAIN },
    Provider {
        domains: &["yandex.ru", "ya.ru", "yandex.com", "yandex.by", "yandex.kz", "yandex.ua"],
        alias: Some(('-', '.')),
        ..PLAIN
    },
];

/// User names at Yahoo contain no hyphen; the text after a hyphen is the keyword of a disposable address.
const YAHOO: Provider = Provider { separators: &['-'], ..PLAIN };
const YAHOO_DOMAINS: &[&str] = &["ymail.com", "rocketmail.com", "myyahoo.com"];

/// Fastmail delivers `anything@name.fastmail.com` to `name@fastmail.com`.
const SUBDOMAIN_ADDRESSING: &[&str] =
    &["fastmail.com", "fastmail.fm", "fastmail.net", "fastmail.org", "messagingengine.com"];

impl Mailbox {
    pub fn of(email: &Email) -> Self {
        let (local, domain) = email.as_str().rsplit_once('@').unwrap_or((email.as_str(), ""));
        let local = unquoted(local).nfkc().collect::<String>().to_lowercase();
        let local = local.nfkc().collect::<String>();
        if let Some((name, parent)) = subdomain_of_fastmail(domain) {
            return Self { text: format!("{name}@{parent}"), has_subaddress: true };
        }
        let provider = provider_of(domain);
        let separators = provider.map_or(&[][..], |provider| provider.separators);
        let cut = local.find(|character| character == '+' || separators.contains(&character));
        let name = cut.map_or(&*local, |cut| &local[..cut]);
        let ignored = provider.map_or(&[][..], |provider| provider.ignored);
        let name = name.chars().filter(|character| !ignored.contains(character));
        let name = name.map(|character| match provider.and_then(|provider| provider.alias) {
            Some((alias, meant)) if alias == character => meant,
            _ => character,
        });
        let domain = provider.and_then(|provider| provider.domains.first()).unwrap_or(&domain);
        let text = format!("{}@{domain}", name.collect::<String>());
        Self { text, has_subaddress: cut.is_some() }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the address had a subaddress, which anybody can invent.
    pub fn has_subaddress(&self) -> bool {
        self.has_subaddress
    }
}

fn provider_of(domain: &str) -> Option<&'static Provider> {
    let is_yahoo = domain.starts_with("yahoo.") || YAHOO_DOMAINS.contains(&domain);
    if is_yahoo {
        return Some(&YAHOO);
    }
    PROVIDERS.iter().find(|provider| provider.domains.contains(&domain))
}

fn subdomain_of_fastmail(domain: &str) -> Option<(&str, &str)> {
    let (name, parent) = domain.split_once('.')?;
    SUBDOMAIN_ADDRESSING.contains(&parent).then_some((name, parent))
}

fn unquoted(local: &str) -> String {
    let inner = local.strip_prefix('"').and_then(|local| local.strip_suffix('"'));
    let Some(inner) = inner else { return local.to_owned() };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox(address: &str) -> String {
        let email = Email::parse(address).unwrap_or_else(|_| panic!("{address}"));
        Mailbox::of(&email).text
    }

    #[test]
    fn every_spelling_of_an_address_is_one_mailbox() {
        for spelling in [
            "ann@shop.example",
            "Ann@Shop.Example",
            "ann@shop.example.",
            "ann+1@shop.example",
            "ann+1+2@shop.example",
            "\"ann\"@shop.example",
            "\"ann+x\"@shop.example",
            "ａｎｎ@shop.example",
        ] {
            assert_eq!(mailbox(spelling), "ann@shop.example", "{spelling}");
        }
        assert_eq!(mailbox("JÖRG@bücher.example"), mailbox("jörg@xn--bcher-kva.example"));
    }

    #[test]
    fn the_rules_of_large_providers_are_known() {
        for (spelling, same) in [
            ("a.n.n+x@googlemail.com", "ann@gmail.com"),
            ("a_n-n@pm.me", "ann@proton.me"),
            ("ann@mac.com", "ann@icloud.com"),
            ("a-n.n@ya.ru", "a.n-n@yandex.ru"),
            ("ann-keyword@yahoo.co.uk", "ann@yahoo.co.uk"),
            ("ann-keyword@ymail.com", "ann@ymail.com"),
            ("any.thing@ann.fastmail.com", "ann@fastmail.com"),
        ] {
            assert_eq!(mailbox(spelling), mailbox(same), "{spelling}");
        }
    }

    #[test]
    fn other_mailboxes_stay_distinct() {
        for other in ["ann1@shop.example", "ann@other.example", "an+n@shop.example"] {
            assert_ne!(mailbox(other), mailbox("ann@shop.example"), "{other}");
        }
        assert_ne!(mailbox("a.nn@yandex.ru"), mailbox("ann@yandex.ru"));
        assert_ne!(mailbox("a.nn@shop.example"), mailbox("ann@shop.example"));
        assert_ne!(mailbox("ann-marie@shop.example"), mailbox("ann@shop.example"));
        assert_ne!(mailbox("ann@fastmail.com"), mailbox("bob@fastmail.com"));
    }

    #[test]
    fn a_subaddress_is_recognised() {
        let has = |address: &str| Mailbox::of(&Email::parse(address).unwrap()).has_subaddress();
        assert!(has("ann+x@shop.example") && has("ann-x@yahoo.com") && has("x@ann.fastmail.com"));
        assert!(!has("ann@shop.example") && !has("a.nn@gmail.com"));
    }
}
