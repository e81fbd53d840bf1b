use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::filtering_proxy::Exceptions;
use crate::browser::site::host_of;

/// The option for runs on a node: only public addresses are reachable, and the run ends when its input closes.
pub const ON_NODE: &str = "on-node";

/// The settings of one run, as the command line gives them.
pub struct Options {
    /// Pages to visit: absolute `http` or `https` URLs.
    pub urls: Vec<Url>,
    /// The pixel whose tag must be on the pages: its id, then its aliases. Empty for any pixel.
    pub pixels: Vec<String>,
    /// The service; without it, the host of the tag's script.
    pub service: Option<Url>,
    /// The browser to start; without it, the first one that is found.
    pub browser: Option<PathBuf>,
    /// The time for which a page is observed after it was loaded, or after a choice.
    pub observation: Duration,
    /// Hosts whose requests are listed separately, subdomains included, in lowercase.
    pub allowed: Vec<String>,
    /// On a node, the addresses that may be reached besides public ones; `None` elsewhere, where all may be reached.
    pub exceptions: Option<Exceptions>,
}

/// Parses the address of a page or of the service. Without a scheme, `https` is assumed.
pub fn parse_url(text: &str) -> Result<Url, String> {
    let text = text.trim();
    let with_scheme =
        if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url = Url::parse(&with_scheme).map_err(|error| format!("{text}: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(format!("{text} is no http or https address")),
    }
}

/// Parses a site or host to allow, with or without a scheme, port or `*.`.
pub fn parse_allowed(text: &str) -> Result<String, String> {
    let text = text.trim().trim_start_matches("*.");
    let url = parse_url(text)?;
    host_of(url.as_str()).ok_or_else(|| format!("{text} is no host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_allowed_hosts_are_parsed() {
        assert_eq!(parse_url("shop.example").unwrap().as_str(), "https://shop.example/");
        assert_eq!(parse_url("http://a.test:81/x").unwrap().as_str(), "http://a.test:81/x");
        assert!(parse_url("ftp://shop.example/").is_err());
        assert!(parse_url("file:///etc/passwd").is_err());
        assert_eq!(parse_allowed("*.CDN.example").unwrap(), "cdn.example");
        assert_eq!(parse_allowed("https://cdn.example:8443/x").unwrap(), "cdn.example");
    }
}
