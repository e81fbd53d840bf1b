//! Evaluation of a site's Content-Security-Policy for the tag (CSP level 3), as browsers do it. The crate
//! `content-security-policy` would not make this shorter: it evaluates whole requests, and the findings still need
//! `'strict-dynamic'`.

use url::Url;

/// One policy. A request must be permitted by all policies of a page.
#[derive(Debug)]
pub struct ContentSecurityPolicy {
    directives: Vec<(String, Vec<String>)>,
}

#[derive(Clone, Copy)]
pub struct Script<'a> {
    pub address: &'a Url,
    pub nonce: Option<&'a str>,
    pub integrity: Option<&'a str>,
}

impl ContentSecurityPolicy {
    pub fn parse_all(text: &str) -> impl Iterator<Item = Self> {
        text.split(',').map(Self::parse).filter(|policy| !policy.directives.is_empty())
    }

    fn parse(text: &str) -> Self {
        let directive = |part: &str| {
            let mut words = part.split_ascii_whitespace();
            let name = words.next()?.to_ascii_lowercase();
            Some((name, words.map(str::to_owned).collect()))
        };
        Self { directives: text.split(';').filter_map(directive).collect() }
    }

    fn sources(&self, names: &[&str]) -> Option<&[String]> {
        names.iter().find_map(|name| {
            let found = self.directives.iter().find(|(known, _)| known == name);
            found.map(|(_, sources)| sources.as_slice())
        })
    }

    fn script_sources(&self) -> Option<&[String]> {
        self.sources(&["script-src-elem", "script-src", "default-src"])
    }

    pub fn allows_script(&self, script: Script<'_>, page: &Url) -> bool {
        let Some(sources) = self.script_sources() else { return true };
        let has = |prefix: &str, value: &str| {
            sources.iter().any(|source| unquoted(source, prefix) == Some(value))
        };
        let nonce = script.nonce.filter(|nonce| !nonce.is_empty());
        let hashes = script.integrity.unwrap_or_default().split_ascii_whitespace();
        let mut hashes = hashes.peekable();
        nonce.is_some_and(|nonce| has("nonce-", nonce))
            || (hashes.peek().is_some() && hashes.all(|hash| has("", hash)))
            || (!self.trusts_scripts() && match_any(sources, script.address, page))
    }

    /// Whether the policy contains `'strict-dynamic'`, so that it trusts nonces and ignores hosts.
    pub fn trusts_scripts(&self) -> bool {
        let sources = self.script_sources().unwrap_or_default();
        sources.iter().any(|source| source.eq_ignore_ascii_case("'strict-dynamic'"))
    }

    pub fn allows_added_script(&self, address: &Url, page: &Url) -> bool {
        let sources = self.script_sources();
        sources.is_none_or(|sources| self.trusts_scripts() || match_any(sources, address, page))
    }

    pub fn allows_connection(&self, address: &Url, page: &Url) -> bool {
        let sources = self.sources(&["connect-src", "default-src"]);
        sources.is_none_or(|sources| match_any(sources, address, page))
    }
}

fn unquoted<'a>(source: &'a str, prefix: &str) -> Option<&'a str> {
    let inside = source.strip_prefix('\'')?.strip_suffix('\'')?;
    let begins = inside.get(..prefix.len())?.eq_ignore_ascii_case(prefix);
    begins.then(|| &inside[prefix.len()..])
}

fn match_any(sources: &[String], address: &Url, page: &Url) -> bool {
    sources.iter().any(|source| matches(source, address, page))
}

/// Whether a source expression matches the address (CSP level 3, section 6.7.2.8).
fn matches(source: &str, address: &Url, page: &Url) -> bool {
    let source = source.to_ascii_lowercase();
    match source.as_str() {
        "'self'" => return address.origin() == page.origin(),
        "*" => return matches!(address.scheme(), "http" | "https"),
        quoted if quoted.starts_with('\'') => return false,
        _ => {}
    }
    if let Some(scheme) = source.strip_suffix(':') {
        return fits_scheme(scheme, address.scheme());
    }
    let (scheme, rest) = source.split_once("://").unwrap_or((page.scheme(), &source));
    let (authority, path) = match rest.find('/') {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, ""),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    fits_scheme(scheme, address.scheme())
        && address.host_str().is_some_and(|found| fits_host(host, found))
        && fits_port(port, address)
        && fits_path(path, address.path())
}

/// Browsers accept `https` where a policy names `http`.
fn fits_scheme(named: &str, found: &str) -> bool {
    named == found || (named == "http" && found == "https")
}

fn fits_host(named: &str, found: &str) -> bool {
    match named.strip_prefix('*') {
        Some("") => true,
        Some(end) => end.starts_with('.') && found.ends_with(end),
        None => named == found,
    }
}

fn fits_port(named: Option<&str>, address: &Url) -> bool {
    match named {
        None => address.port().is_none(),
        Some("*") => true,
        Some(named) => named.parse().ok() == address.port_or_known_default(),
    }
}

/// Ignores case, although paths are case-sensitive: policies name at most folders here.
fn fits_path(named: &str, found: &str) -> bool {
    let found = found.to_ascii_lowercase();
    match named {
        "" | "/" => true,
        folder if folder.ends_with('/') => found.starts_with(folder),
        file => found == file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "https://assent.example/px/abc.js";

    fn policy(text: &str) -> Vec<ContentSecurityPolicy> {
        ContentSecurityPolicy::parse_all(text).collect()
    }

    fn is_loaded(text: &str, nonce: Option<&str>, integrity: Option<&str>) -> bool {
        let (address, page) =
            (Url::parse(TAG).unwrap(), Url::parse("https://shop.example/").unwrap());
        let script = Script { address: &address, nonce, integrity };
        policy(text).iter().all(|policy| policy.allows_script(script, &page))
    }

    #[test]
    fn a_policy_that_allows_the_script_does() {
        for text in [
            "",
            ";;",
            "img-src 'none'",
            "script-src *",
            "script-src https:",
            "script-src http:",
            "script-src assent.example",
            "Script-Src 'self' HTTPS://Assent.example",
            "script-src *.example",
            "script-src assent.example:443/px/",
            "script-src assent.example:* 'nonce-x'",
            "script-src http://assent.example",
            "default-src 'none'; script-src assent.example",
            "script-src 'none'; script-src-elem assent.example",
            "script-src assent.example; script-src 'none'",
            "script-src assent.example 'unsafe-inline', default-src https:",
        ] {
            assert!(is_loaded(text, None, None), "{text}");
        }
    }

    #[test]
    fn a_policy_that_forbids_the_script_does() {
        for text in [
            "script-src",
            "script-src 'none'",
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
            "script-src *.assent.example",
            "script-src assent.example:8443",
            "script-src assent.example/pixel.js",
            "script-src notassent.example",
            "script-src assent.example; script-src-elem 'self'",
            "script-src https:, script-src 'self'",
            "script-src 'strict-dynamic' 'nonce-x' https: assent.example",
            "script-src 'nonce-x' 'sha256-abc='",
            "script-src data: blob:",
        ] {
            assert!(!is_loaded(text, None, None), "{text}");
        }
    }

    #[test]
    fn a_nonce_or_a_hash_lets_the_script_in() {
        let strict = "script-src 'nonce-Abc' 'sha256-xyz=' 'strict-dynamic'";
        assert!(is_loaded(strict, Some("Abc"), None));
        assert!(is_loaded(strict, None, Some("sha256-xyz=")));
        for (nonce, integrity) in
            [(Some("abc"), None), (Some(""), None), (None, Some("sha256-xyz= sha256-other="))]
        {
            assert!(!is_loaded(strict, nonce, integrity));
        }
    }

    #[test]
    fn what_is_asked_and_added_later_is_judged_too() {
        let page = Url::parse("https://shop.example/").unwrap();
        let base = Url::parse("https://assent.example/").unwrap();
        let of = |text: &str| policy(text).remove(0);
        assert!(of("script-src 'none'").allows_connection(&base, &page));
        assert!(of("connect-src 'self' assent.example").allows_connection(&base, &page));
        assert!(!of("default-src 'self'").allows_connection(&base, &page));
        assert!(!of("default-src *; connect-src 'self'").allows_connection(&base, &page));
        assert!(of("script-src 'nonce-x' 'strict-dynamic'").allows_added_script(&base, &page));
        assert!(!of("script-src 'nonce-x'").allows_added_script(&base, &page));
        assert!(of("default-src 'self'").allows_connection(&page, &page));
    }
}
