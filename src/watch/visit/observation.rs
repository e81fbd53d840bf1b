use crate::watch::devtools::Seen;
use crate::watch::net_log::NetLog;

use super::kinds::Visit;

#[derive(Clone, Debug, PartialEq)]
pub struct StoredValue {
    /// The host that owns it.
    pub owner: String,
    /// `cookie`, `local_storage`, `indexeddb` or `cache_storage`.
    pub store: &'static str,
    pub name: String,
    pub value: String,
    /// The rest of a cookie's life; `None` for storage, which does not expire, and for session cookies.
    pub lifetime_s: Option<f64>,
    pub is_session: bool,
}

impl StoredValue {
    pub fn is_same_entry(&self, other: &Self) -> bool {
        (&self.owner, self.store, &self.name) == (&other.owner, other.store, &other.name)
    }

    pub fn is_same(&self, other: &Self) -> bool {
        self.is_same_entry(other) && self.value == other.value
    }
}

#[derive(Clone, Debug)]
pub struct TagSeen {
    pub url: String,
    /// Lowercase hex; `None` if its text could not be read.
    pub sha256: Option<String>,
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
    /// The end of the visit; later events are the browser's own.
    pub ended_ms: f64,
    /// The time in which everything is permitted, in milliseconds of the monotonic clock.
    pub permitted: Option<(f64, f64)>,
    /// Whether the choices of the visit were made.
    pub has_chosen: bool,
    pub log: NetLog,
    pub seen: Seen,
    /// Values before an acceptance.
    pub stored_before: Vec<StoredValue>,
    /// Values at the withdrawal.
    pub stored_permitted: Vec<StoredValue>,
    pub stored: Vec<StoredValue>,
    /// Values that were written at any time.
    pub passing: Vec<StoredValue>,
    pub objects: Vec<String>,
    /// Icons and manifests that the page names, which a browser without a window does not load.
    pub icons: Vec<String>,
    pub manifests: Vec<String>,
    /// Servers of WebRTC that pages named: host and port.
    pub webrtc_servers: Vec<(String, u16)>,
    pub tag: Option<TagSeen>,
    pub screenshot: Option<Screenshot>,
    pub browser: String,
    pub has_sandbox: bool,
}
