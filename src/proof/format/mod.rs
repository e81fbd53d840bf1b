//! The formats of the log, byte for byte, without I/O.

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
