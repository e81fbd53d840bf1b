use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::Kind;
use crate::browser::devtools::Initiator;

/// A request, connection or identifier that needed consent. Identifiers have `name`, `store`, `bits`,
/// `lifetime_s` and `reason`; their values are never part of a report.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Leak {
    /// The address requested or connected to; for an identifier the page's.
    pub url: String,
    /// The host requested or connected to; for an identifier its owner.
    pub host: String,
    pub kind: Kind,
    /// Milliseconds since the visit's first navigation.
    pub at_ms: u64,
    /// The script or document that caused it, where it is known.
    pub initiator: Option<Initiator>,
    #[serde(flatten)]
    pub identifier: Option<IdentifierFacts>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IdentifierFacts {
    pub name: String,
    /// `cookie`, `local_storage`, `indexeddb` or `cache_storage`.
    pub store: String,
    /// Bits in the parts of the value that differ from all other fresh profiles.
    pub bits: u32,
    /// The rest of a cookie's life in seconds; null for storage, which does not expire.
    pub lifetime_s: Option<f64>,
    pub reason: String,
}

/// A cookie or an entry of storage, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    pub name: String,
    pub host: String,
    /// `cookie`, `local_storage`, `session_storage`, `indexeddb` or `cache_storage`.
    pub store: String,
    /// The rest of a cookie's life in seconds; null for session cookies and storage.
    pub lifetime_s: Option<f64>,
    pub reason: String,
}
