mod causes;
mod connection;
mod follow;
mod seen;

pub use causes::{Cause, Initiator};
pub use connection::{CallError, Connection, Events};
pub use follow::{Following, attach, follow};
pub use seen::{Document, ItemWritten, Seen, SharedSeen};
