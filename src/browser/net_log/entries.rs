//! The contents of a network log that verdicts need. Times are milliseconds of the monotonic clock.

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub at_ms: f64,
    pub url: String,
    pub method: String,
    /// Caused by a page, not by the browser itself.
    pub by_page: bool,
    /// `main frame`, `subframe` or `other`.
    pub destination: String,
    /// It was sent, or a connection was opened for it: it was neither answered from a cache nor cancelled before.
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

/// A connection that a page opened to a host, for a request or ahead of one.
#[derive(Clone, Debug)]
pub struct Connecting {
    pub at_ms: f64,
    /// Scheme, host and port, such as `https://cdn.example:8443`.
    pub origin: String,
    /// A WebTransport session, which has no request.
    pub is_transport: bool,
}

/// Packets or a connection to an address without a host name, as in WebRTC.
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
    /// The lifetime in seconds, if a header of a response set the cookie.
    pub lifetime_s: Option<f64>,
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
    /// Entries were dropped because a limit was reached.
    pub is_cut: bool,
    /// The browser has written the end of the log.
    pub is_closed: bool,
    /// A part in the middle cannot be parsed.
    pub has_gap: bool,
    /// The time of the latest event.
    pub last_ms: f64,
}

impl NetLog {
    /// A sentence if events before the end of the visit may be missing. Events are written in order, so a later event
    /// shows that all earlier ones were written, even if the browser was killed afterwards.
    pub fn missing(&self, ended_ms: Option<f64>) -> Option<&'static str> {
        let is_later = || ended_ms.is_some_and(|ended_ms| self.last_ms > ended_ms);
        if self.is_cut {
            Some("the page made more requests than are kept")
        } else if self.has_gap || !(self.is_closed || is_later()) {
            Some("the browser did not complete its network log")
        } else {
            None
        }
    }
}
