//! The network log of a browser (`--log-net-log`): everything that it sent, whoever caused it.

mod entries;
mod parse;
mod parties;

pub use entries::{Connecting, NetLog, Request};
pub use parse::read;
