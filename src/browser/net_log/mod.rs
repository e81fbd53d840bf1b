//! The network log of a browser (`--log-net-log`): everything that it sent, for a page or on its own. The crate
//! `netlog` does not read events of cookies and sockets, and panics on events in an unexpected form.

mod entries;
mod lines;
mod link_header;
mod parse;
mod parties;
mod set_cookie;
#[cfg(test)]
mod tests;

pub use entries::{Connecting, NetLog, Request};
pub use lines::is_closed;
pub use parse::read;
