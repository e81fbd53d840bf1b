//! Suppressions: the people whom an account must never store again. A person is suppressed under
//! the lock of the account's row, which every store of contacts holds too: earlier contacts are
//! erased, and later ones are refused.

pub mod apply;
pub mod digests;
pub mod entry;
pub mod import;
pub mod list;
mod list_line;
pub mod overview;
mod store;
pub mod suppress;

pub use store::{delete_imports, delete_of_account, list_suppressions};
