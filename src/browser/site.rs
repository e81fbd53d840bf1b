//! Sites: registrable domains by the Public Suffix List, its private section included.

use std::net::IpAddr;

use url::{Host, Url};

pub const MAX_URL: usize = 4000;

/// A registrable domain, or an IP address, or a name without a registrable domain such as `localhost`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(String);

impl Site {
    /// The site of a host as it is written in a URL, without port.
    pub fn of_host(host: &str) -> Self {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let domain = (!is_address).then(|| psl::domain_str(&host)).flatten();
        Self(domain.map_or_else(|| host.clone(), str::to_owned))
    }
}

/// The host of an HTTP or WebSocket URL, in lowercase, without port. `None` for other schemes.
pub fn host_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return None;
    }
    Some(match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => format!("[{address}]"),
    })
}

/// Truncates an address to `MAX_URL` characters.
pub fn shortened(url: &str) -> &str {
    url.char_indices().nth(MAX_URL).map_or(url, |(end, _)| &url[..end])
}

pub fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

/// Whether `host` is `parent` or one of its subdomains.
pub fn is_within(host: &str, parent: &str) -> bool {
    host.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_registrable_domain_or_an_address() {
        let sites = [
            ("https://www.shop.example/", "shop.example"),
            ("http://a.b.shop.co.uk:8080/", "shop.co.uk"),
            ("https://ann.github.io/", "ann.github.io"),
            ("wss://localhost:8000/", "localhost"),
            ("http://127.0.0.1:9/", "127.0.0.1"),
            ("http://[::1]:9/", "[::1]"),
            ("https://SHOP.Example./", "shop.example"),
        ];
        for (url, site) in sites {
            assert_eq!(Site::of_host(&host_of(url).unwrap()).0, site, "{url}");
        }
        for url in ["data:text/plain,x", "blob:https://shop.example/1", "about:blank", ""] {
            assert_eq!(host_of(url), None, "{url}");
        }
    }

    #[test]
    fn only_the_start_of_a_long_address_is_kept() {
        let long = format!("https://shop.example/{}", "é".repeat(5000));
        assert_eq!(shortened(&long).chars().count(), MAX_URL);
        assert_eq!(shortened("https://shop.example/"), "https://shop.example/");
    }

    #[test]
    fn hosts_below_a_host_are_within_it() {
        assert!(is_within("a.shop.example", "shop.example"));
        assert!(is_within("shop.example", "shop.example"));
        assert!(!is_within("myshop.example", "shop.example"));
    }
}
