use std::fmt;

use lettre::Address;
use lettre::address::AddressError;

use crate::error::{Error, Result};

/// RFC 5321, section 4.5.3.1.3: a path has at most 256 octets, including its brackets.
const MAX_LEN: usize = 254;

/// A lowercase mail address, its domain as punycode.
// No `Debug`, because no log may contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Email(String);

impl fmt::Debug for Email {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl Email {
    /// Accepts `local@domain` with a domain of at least two labels; anything else is `invalid email`.
    pub fn parse(text: &str) -> Result<Self> {
        Self::checked(text.trim()).ok_or(Error::InvalidEmail)
    }

    pub fn required(text: Option<&str>) -> Result<Self> {
        Self::parse(text.unwrap_or_default())
    }

    fn checked(text: &str) -> Option<Self> {
        let (local, domain) = text.rsplit_once('@')?;
        let domain = ascii_domain(domain).filter(|domain| is_full_domain(domain))?;
        let address = format!("{}@{domain}", local.to_lowercase());
        let valid = address.len() <= MAX_LEN
            && local.len() <= 64
            && !address
                .chars()
                .any(|character| character.is_control() || character.is_whitespace())
            && address.parse::<Address>().is_ok();
        valid.then_some(Self(address))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn address(&self) -> Result<Address, AddressError> {
        self.0.parse()
    }
}

/// Converts a non-ASCII domain to punycode (RFC 5891), so that SMTPUTF8 is not needed. `None` for a
/// domain that cannot be converted.
pub fn with_ascii_domain(address: &Address) -> Option<Address> {
    if address.domain().is_ascii() {
        return Some(address.clone());
    }
    Address::new(address.user(), ascii_domain(address.domain())?).ok()
}

fn ascii_domain(domain: &str) -> Option<String> {
    match url::Host::parse(domain.strip_suffix('.').unwrap_or(domain)).ok()? {
        url::Host::Domain(domain) => Some(domain),
        url::Host::Ipv4(_) | url::Host::Ipv6(_) => None,
    }
}

fn is_full_domain(domain: &str) -> bool {
    domain.contains('.')
        && domain.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_lowercased_and_its_domain_becomes_punycode() {
        for (given, kept) in [
            ("  Ann.Lee+tag@Example.COM ", "ann.lee+tag@example.com"),
            ("ann@bücher.example", "ann@xn--bcher-kva.example"),
            ("ann@example.com.", "ann@example.com"),
            ("\"a.b\"@example.com", "\"a.b\"@example.com"),
            ("jörg@example.com", "jörg@example.com"),
        ] {
            assert_eq!(Email::parse(given).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn only_a_non_ascii_domain_is_converted() {
        for (given, written) in [
            ("no-reply@bücher.example", "no-reply@xn--bcher-kva.example"),
            ("jörg@BÜCHER.example", "jörg@xn--bcher-kva.example"),
            ("no-reply@例え.テスト", "no-reply@xn--r8jz45g.xn--zckzah"),
            ("No-Reply@Shop.Example", "No-Reply@Shop.Example"),
            ("root@localhost", "root@localhost"),
            ("root@[192.0.2.7]", "root@[192.0.2.7]"),
        ] {
            let address = given.parse().unwrap();
            assert_eq!(with_ascii_domain(&address).unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_cannot_be_written_to_is_refused() {
        for bad in [
            "",
            "ann",
            "@example.com",
            "ann@",
            "ann@localhost",
            "a b@example.com",
            "ann@exa mple.com",
            "ann@-example.com",
            "ann@example..com",
            "ann@[127.0.0.1]",
            "ann@127.0.0.1",
            "ann@example.com\r\nBcc: x@y.z",
            "a\0@example.com",
            &format!("{}@example.com", "x".repeat(65)),
        ] {
            assert!(Email::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_address_does_not_show_in_debug_output() {
        let email = Email::parse("ann@shop.example").unwrap();
        assert_eq!(format!("{email:?}"), "[redacted]");
    }
}
