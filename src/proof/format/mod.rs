//! The formats of the log, without I/O. The code is our own: `signed_note` 0.2.0 accepts a second
//! encoding of keys and does not use ring for Ed25519; `tlog_tiles` 0.2.0 has the paths of Go's
//! checksum database, and panics for a tile of width 0.

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
