use std::fmt;

use url::{Host, Url};

use crate::error::{Error, Result};

/// A host of a public site in lowercase ASCII (IDNs as punycode), without `www.`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema, utoipa::ToSchema,
)]
#[serde(transparent)]
#[schema(example = "shop.example")]
pub struct SiteHost(String);

impl SiteHost {
    /// Parses a host that an integrator typed. A leading `https://`, each `www.` and one trailing dot
    /// are dropped. Pages, ports, addresses, public suffixes and single labels are refused; `own_host`
    /// (the service's own) is always allowed, so that the service can be tried locally.
    pub fn parse(text: &str, own_host: &str) -> Result<Self> {
        let text = text.trim();
        let text = strip_prefix_ignoring_case(text, "https://").unwrap_or(text);
        if text.contains(['/', '?', '#', '\\']) {
            return Err(Error::DomainIsPage);
        }
        Self::from_bare(text, own_host).ok_or(Error::DomainNotHost)
    }

    fn from_bare(text: &str, own_host: &str) -> Option<Self> {
        if text.contains(['@', ':', '%', '_']) || text.contains(char::is_whitespace) {
            return None;
        }
        let host = ascii_host(text)?;
        if host == own_host {
            return Some(Self(host));
        }
        let host = without_www(&host);
        is_registrable(host).then(|| Self(host.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the host is more than a public suffix, according to the current list.
    pub fn is_registrable(&self) -> bool {
        is_registrable(&self.0)
    }

    pub fn covers(&self, host: &str) -> bool {
        covers(&self.0, host)
    }
}

impl fmt::Display for SiteHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// For values from the database, which were validated when they were stored.
impl From<String> for SiteHost {
    fn from(text: String) -> Self {
        Self(text)
    }
}

fn covers(site: &str, host: &str) -> bool {
    let Some(host) = ascii_host(host) else { return false };
    host == site || host.strip_suffix(site).is_some_and(|rest| rest.ends_with('.'))
}

/// The host and its parent domains, except the top-level domain.
pub fn parents_of(host: &SiteHost) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host.as_str()), |name| parent_of(name))
        .filter(|name| name.contains('.'))
}

fn parent_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(_, parent)| parent)
}

/// The host as browsers write it, without a trailing dot; `None` for IP addresses and invalid hosts.
fn ascii_host(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    match Host::parse(text).ok()? {
        Host::Domain(domain) if has_valid_labels(&domain) => Some(domain),
        _ => None,
    }
}

fn has_valid_labels(domain: &str) -> bool {
    domain.len() <= 253
        && domain.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
}

/// Removes every leading `www.`: `www.www.shop.example` is the same site.
pub fn without_www(mut host: &str) -> &str {
    while let Some(rest) = host.strip_prefix("www.") {
        host = rest;
    }
    host
}

/// Whether the host is more than a public suffix such as `co.uk` or `github.io`.
fn is_registrable(host: &str) -> bool {
    host.contains('.') && psl::domain(host.as_bytes()).is_some()
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

pub struct PageUrl {
    /// Scheme, host and port as a browser writes them, for example `https://shop.example`.
    pub origin: String,
    host: String,
}

impl PageUrl {
    /// `None` unless `text` is an http(s) URL with a host.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Some(Self { origin: url.origin().ascii_serialization(), host: url.host_str()?.to_owned() })
    }

    pub fn host(&self) -> &str {
        &self.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String> {
        SiteHost::parse(text, "localhost").map(|host| host.0)
    }

    #[test]
    fn a_host_is_read_the_way_people_write_it() {
        for (given, kept) in [
            ("example.com", "example.com"),
            (" https://www.Example.COM ", "example.com"),
            ("HTTPS://shop.example.co.uk.", "shop.example.co.uk"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("www.me.github.io", "me.github.io"),
            ("www.www.Example.com", "example.com"),
            ("HTTPS://WWW.www.www.example.com.", "example.com"),
            ("wwww.example.com", "wwww.example.com"),
            ("www-www.example.com", "www-www.example.com"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(parse(given).unwrap(), kept, "{given}");
        }
    }

    #[test]
    fn a_page_is_not_a_host() {
        for page in [
            "http://example.com",
            "https://example.com/",
            "example.com/a",
            "example.com?a",
            "example.com#a",
        ] {
            assert!(matches!(parse(page), Err(Error::DomainIsPage)), "{page}");
        }
    }

    #[test]
    fn what_nobody_can_own_is_refused() {
        for bad in [
            "example.com:443",
            "a@example.com",
            "exa mple.com",
            "127.0.0.1",
            "[::1]",
            "0x7f.1",
            "co.uk",
            "github.io",
            "www.co.uk",
            "www.www.co.uk",
            "com",
            "intranet",
            "a_b.example.com",
            "-a.example.com",
            "a..example.com",
            ".",
            "example.com..",
            "ex%61mple.com",
        ] {
            assert!(matches!(parse(bad), Err(Error::DomainNotHost)), "{bad}");
        }
    }

    #[test]
    fn a_site_covers_its_subdomains_and_nothing_else() {
        let site = SiteHost("shop.example".to_owned());
        assert!(
            site.covers("shop.example")
                && site.covers("WWW.Shop.example.")
                && site.covers("a.b.shop.example")
        );
        for other in ["example", "notshop.example", "shop.example.evil.com", "", "127.0.0.1"] {
            assert!(!site.covers(other), "{other}");
        }
    }

    #[test]
    fn the_parents_of_a_host_are_the_domains_that_cover_it() {
        let host = SiteHost("a.shop.co.uk".to_owned());
        assert!(parents_of(&host).eq(["a.shop.co.uk", "shop.co.uk", "co.uk"]));
    }

    #[test]
    fn a_page_url_keeps_only_its_origin() {
        let page = PageUrl::parse("https://user:pw@Shop.example:8443/path?q=1#f").unwrap();
        assert_eq!(page.origin, "https://shop.example:8443");
        for bad in [
            "",
            "shop.example",
            "ftp://shop.example",
            "data:text/html,x",
            "file:///etc/passwd",
            "javascript:1",
        ] {
            assert!(PageUrl::parse(bad).is_none(), "{bad}");
        }
    }
}
