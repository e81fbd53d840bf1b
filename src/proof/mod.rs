//! The public log of what the service publishes: every policy, every notice in the language in which
//! it was read, every build of the consent tag. Anybody can see that nothing in it was changed or
//! taken away afterwards. What visitors chose is in it as one hash of all choices of some seconds, so
//! that each can be proved and none is shown.
//!
//! The formats are those of C2SP (signed notes, checkpoints, tiled logs) over the trees of RFC 6962,
//! so that clients of other logs read this one. An entry holds a hash and a time: nothing of whom it
//! belongs to, and nothing personal.

mod choices;
pub mod cosigning;
mod extending;
mod files;
pub mod format;
mod guard;

pub mod log;
pub mod operator;
mod pause;
pub mod proving;
pub mod publications;
mod publishing;
mod quoting;
mod reading;
mod remembering;
mod sealing;
mod state_file;
mod store;
mod stored_tree;
pub mod timestamp;
pub mod verdict;
pub mod verifying;
pub mod witness;
mod words;
