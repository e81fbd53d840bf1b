//! JSON from strangers. `serde_json` alone accepts duplicate keys, and has no limits of values (ADR 0004).

pub mod bounds;
pub mod compact;
pub mod entries;
pub mod shape;
pub mod strict;
