//! The network log of a browser (`--log-net-log`): everything that it sent, whoever caused it. The crate `netlog` reads
//! no events of cookies and sockets, and panics at an event in another form.

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
