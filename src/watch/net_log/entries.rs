//! The contents of a network log that verdicts need. Times are milliseconds of the monotonic clock.

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub at_ms: f64,
    pub url: String,
    pub method: String,
    /// The request's cause is a page, not the browser itself.
    pub by_page: bool,
    /// `main frame`, `subframe` or `other`.
    pub destination: String,
    /// It was sent, or a connection was opened for it: not answered from a cache, and not stopped before.
    pub is_sent: bool,
    pub headers: Vec<String>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A connection that a page opened to a host, by a request or ahead of one.
#[derive(Clone, Debug)]
pub struct Connecting {
    pub at_ms: f64,
    /// Scheme, host and port, such as `https://cdn.example:8443`.
    pub origin: String,
    /// A session of WebTransport, which has no request.
    pub is_transport: bool,
}

/// Packets or a connection to an address without a name: WebRTC.
#[derive(Clone, Debug)]
pub struct Unnamed {
    pub at_ms: f64,
    pub address: std::net::SocketAddr,
}

#[derive(Clone, Debug)]
pub struct CookieWritten {
    pub at_ms: f64,
    pub name: String,
    pub value: String,
    pub domain: String,
    pub is_persistent: bool,
}

#[derive(Clone, Debug)]
pub struct CookieSent {
    pub at_ms: f64,
    pub name: String,
    pub domain: String,
}

#[derive(Debug, Default)]
pub struct NetLog {
    pub requests: Vec<Request>,
    pub connections: Vec<Connecting>,
    pub unnamed: Vec<Unnamed>,
    pub cookies_written: Vec<CookieWritten>,
    pub cookies_sent: Vec<CookieSent>,
    pub is_cut: bool,
}
