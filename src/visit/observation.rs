use crate::browser::devtools::Seen;
use crate::browser::net_log::NetLog;

use super::kinds::Visit;
use super::named::Named;

#[derive(Clone, Debug, PartialEq)]
pub struct StoredValue {
    /// The host that owns it.
    pub owner: String,
    /// `cookie`, `local_storage`, `session_storage`, `indexeddb` or `cache_storage`.
    pub store: &'static str,
    pub name: String,
    pub value: String,
    /// The remaining lifetime of a cookie; `None` for storage, which does not expire, and for session cookies.
    pub lifetime_s: Option<f64>,
    pub is_session: bool,
    /// The digest of a value of which only the beginning and the end were read.
    pub digest: Option<String>,
}

impl StoredValue {
    /// The owner, the store and the name, which all values of an entry have in common.
    pub fn entry(&self) -> (&str, &str, &str) {
        (&self.owner, self.store, &self.name)
    }

    pub fn is_same_entry(&self, other: &Self) -> bool {
        self.entry() == other.entry()
    }

    pub fn is_same(&self, other: &Self) -> bool {
        self.is_same_entry(other) && (&self.value, &self.digest) == (&other.value, &other.digest)
    }
}

/// A consent tag of the service.
#[derive(Clone, Debug)]
pub struct TagSeen {
    pub url: String,
    /// Lowercase hex; `None` if its text could not be read.
    pub sha256: Option<String>,
    /// Empty if its text could not be read.
    pub purposes: Vec<String>,
}

/// A picture of the page at the end of a visit, as PNG.
#[derive(Clone, Debug)]
pub struct Screenshot(pub Vec<u8>);

#[derive(Debug)]
pub struct Observation {
    pub visit: Visit,
    /// The reason why the visit does not count as observed.
    pub unobserved: Option<String>,
    /// The time of the first navigation, in milliseconds of the monotonic clock.
    pub started_ms: f64,
    /// The end of the visit. Later events are caused by the browser itself.
    pub ended_ms: f64,
    /// The time in which everything is permitted, in milliseconds of the monotonic clock.
    pub permitted: Option<(f64, f64)>,
    /// The beginning of the withdrawal, shortly before the end of the permitted time.
    pub withdrawn_ms: Option<f64>,
    /// Whether the choices of the visit were made.
    pub has_chosen: bool,
    pub log: NetLog,
    pub seen: Seen,
    /// Values before an acceptance.
    pub stored_before: Vec<StoredValue>,
    /// Values at the withdrawal.
    pub stored_permitted: Vec<StoredValue>,
    pub stored: Vec<StoredValue>,
    /// Cookies and local storage entries of the whole visit, including those that were removed.
    pub passing: Vec<StoredValue>,
    /// Its icons and manifests are those that the page named without consent.
    pub named: Named,
    /// The icons and manifests that it named only after the withdrawal.
    pub named_later: Named,
    /// Servers of WebRTC that pages named, by host and port: until the end, before an acceptance, and until the
    /// withdrawal.
    pub webrtc_servers: Vec<(String, u16)>,
    pub webrtc_before: Vec<(String, u16)>,
    pub webrtc_permitted: Vec<(String, u16)>,
    /// The browser connects through a proxy, and sends no packets of WebRTC.
    pub is_proxied: bool,
    pub tag: Option<TagSeen>,
    pub screenshot: Option<Screenshot>,
    pub browser: String,
    pub has_sandbox: bool,
}

#[cfg(test)]
impl Observation {
    /// A visit without any events.
    pub fn empty(visit: Visit) -> Self {
        Self {
            visit,
            unobserved: None,
            started_ms: 0.0,
            ended_ms: 100.0,
            permitted: None,
            withdrawn_ms: None,
            has_chosen: false,
            log: NetLog::default(),
            seen: Seen::default(),
            stored_before: Vec::new(),
            stored_permitted: Vec::new(),
            stored: Vec::new(),
            passing: Vec::new(),
            named: Named::default(),
            named_later: Named::default(),
            webrtc_servers: Vec::new(),
            webrtc_before: Vec::new(),
            webrtc_permitted: Vec::new(),
            is_proxied: false,
            tag: None,
            screenshot: None,
            browser: String::new(),
            has_sandbox: true,
        }
    }
}
