//! The transparency log: every policy, notice that was read, build of the consent tag, and watch report. Anybody
//! can verify that none was changed or removed. The choices of some seconds are in it as one hash, so that each
//! can be proved and none is disclosed. The formats are those of C2SP (signed notes, checkpoints, tiled logs) over
//! the Merkle trees of RFC 6962. An entry contains a hash and a time, but no personal data.

mod choices;
pub mod cosigning;
mod extending;
mod files;
pub mod format;
mod guard;

mod appending;
pub mod log;
pub mod operator;
mod pause;
pub mod proving;
pub mod publications;
mod publishing;
mod quoting;
mod reading;
mod remembering;
mod state_file;
mod store;
mod stored_tree;
pub mod timestamp;
pub mod verdict;
pub mod verifying;
pub mod witness;
mod words;
