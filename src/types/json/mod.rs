//! Untrusted JSON. `serde_json` alone accepts duplicate keys, and does not limit the number of values (ADR 0004).

pub mod bounds;
pub mod compact;
pub mod entries;
pub mod shape;
pub mod strict;
