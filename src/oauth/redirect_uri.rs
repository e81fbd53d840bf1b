//! Redirect addresses of apps: an https address, a loopback address on the person's machine, or a private-use
//! scheme of a program (RFC 8252).

use url::{Host, Url};

const MOST_BYTES: usize = 500;

/// Private-use schemes without a dot that well-known programs use.
const KNOWN_SCHEMES: [&str; 12] = [
    "claude",
    "code-oss",
    "cursor",
    "goose",
    "kiro",
    "raycast",
    "trae",
    "vscode",
    "vscode-insiders",
    "vscodium",
    "windsurf",
    "zed",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
}

impl RedirectUri {
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}'".contains(&byte);
        if text.len() > MOST_BYTES || !text.bytes().all(is_plain) {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let scheme = url.scheme();
        // Parsers disagree about addresses with anything else after the scheme.
        let begins_with =
            |rest: &str| text.strip_prefix(scheme).is_some_and(|after| after.starts_with(rest));
        let is_admitted = match scheme {
            "https" => begins_with("://") && url.host_str().is_some_and(|host| !host.is_empty()),
            "http" => begins_with("://") && is_loopback(&url),
            own => begins_with(":") && (own.contains('.') || KNOWN_SCHEMES.contains(&own)),
        };
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        (is_admitted && !has_credentials).then(|| Self { text: text.to_owned(), url })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a request may use `asked` if this address is registered: the same text, or the same
    /// loopback address with another port, because programs choose the port when they start.
    pub fn admits(&self, asked: &Self) -> bool {
        if self.text == asked.text {
            return true;
        }
        let without_port = |uri: &Self| {
            let mut url = uri.url.clone();
            (url.scheme() == "http" && url.set_port(None).is_ok()).then_some(url)
        };
        matches!((without_port(self), without_port(asked)), (Some(one), Some(other)) if one == other)
    }

    /// The receiver of the answer, for display.
    pub fn destination(&self) -> String {
        match self.url.scheme() {
            "https" => self.url.host_str().unwrap_or_default().to_owned(),
            "http" => "a program on this computer".to_owned(),
            own => format!("the program that opens {own}: links"),
        }
    }

    /// The source expression that permits a form's redirect in a content security policy (`form-action`).
    pub fn form_source(&self) -> String {
        match (self.url.scheme(), self.url.host()) {
            ("https", _) => self.url.origin().ascii_serialization(),
            // Source expressions cannot contain IPv6 addresses.
            ("http", Some(Host::Ipv6(_))) => "http:".to_owned(),
            ("http", _) => self.url.origin().ascii_serialization(),
            (own, _) => format!("{own}:"),
        }
    }

    /// The address with parameters added to its query.
    pub fn with(&self, parameters: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let query = query.extend_pairs(parameters).finish();
        let joint = if self.text.contains('?') { '&' } else { '?' };
        format!("{}{joint}{query}", self.text)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_loopback_addresses_and_programs_are_admitted() {
        for text in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://chatgpt.com/connector_platform_oauth_redirect?x=1",
            "http://127.0.0.1/callback",
            "http://localhost:33418/",
            "http://[::1]:9000/cb",
            "cursor://anysphere.cursor-retrieval/oauth/callback",
            "vscode://vscode.github-authentication/did-authenticate",
            "com.example.app:/oauth",
        ] {
            let uri = RedirectUri::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(uri.as_str(), text);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("https://a.example/{}", "x".repeat(500));
        for text in [
            "",
            "/callback",
            "//evil.example",
            "http://app.example/cb",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://10.0.0.1/",
            "https://user:secret@app.example/cb",
            "https://app.example/cb#part",
            "https:app.example/cb",
            "https:/app.example/cb",
            "HTTPS://app.example/cb",
            "https://",
            "https://app.example\\@evil.example/",
            "https://app.example/\r\nSet-Cookie:a=b",
            "https://app.example/ cb",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "blob:https://app.example/1",
            "about:blank",
            "ftp://app.example/",
            "ws://app.example/",
            "intent://x",
            "unknown://x",
            "mailto:a@b.example",
            &long,
        ] {
            assert_eq!(RedirectUri::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let admits = |registered: &str, asked: &str| {
            RedirectUri::parse(registered).unwrap().admits(&RedirectUri::parse(asked).unwrap())
        };
        assert!(admits("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb"));
        assert!(admits("http://localhost:1/cb", "http://localhost:2/cb"));
        assert!(admits("http://[::1]/cb", "http://[::1]:2/cb"));
        for (registered, asked) in [
            ("http://127.0.0.1/cb", "http://localhost/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1/cb/more"),
            ("http://127.0.0.1/cb", "http://127.0.0.1/cb?x=1"),
            ("https://a.example/cb", "https://a.example:8443/cb"),
            ("https://a.example/cb", "https://a.example/cb/"),
            ("https://a.example/cb", "https://a.example/CB"),
            ("https://a.example/cb", "https://b.a.example/cb"),
            ("cursor://a/cb", "cursor://b/cb"),
            ("com.example.app:/cb", "com.example.app:/cb2"),
        ] {
            assert!(!admits(registered, asked), "{registered} {asked}");
        }
    }
}
