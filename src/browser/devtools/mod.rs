mod causes;
mod connection;
mod follow;
mod items;
mod seen;

pub use causes::{Cause, Initiator};
pub use connection::{CallError, Connection, Events};
pub use follow::{Following, attach, follow};
pub use items::ItemWritten;
pub use seen::{Document, Seen, SharedSeen};
