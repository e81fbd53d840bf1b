//! The formats of the log, byte for byte, without I/O. They are our own: `signed_note` 0.2.0 accepts a
//! second spelling of keys and needs another Ed25519 than ring's; `tlog_tiles` 0.2.0 has the paths of
//! Go's checksum database, and panics for a tile of width 0.

pub mod bundle;
pub mod checkpoint;
pub mod cosignature;
pub mod entry;
pub mod epoch;
pub mod hashes;
pub mod key;
pub mod note;
pub mod path;
pub mod policy;
pub mod submission;
pub mod tile;
pub mod tlog_proof;
pub mod tree;
pub mod watch_report;
