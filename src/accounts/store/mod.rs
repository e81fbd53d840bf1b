mod account_codes;
mod accounts;
mod address_changes;
pub mod erasure;
mod events;
mod keys;
pub mod mailboxes;
mod members;
mod states;
mod verifications;

pub use account_codes::*;
pub use accounts::*;
pub use address_changes::*;
pub use events::*;
pub use keys::*;
pub use members::*;
pub use states::*;
pub use verifications::*;
