//! Pixels: one per site host, with the snippet that installs it.

pub mod capabilities;
pub mod change;
pub mod claims;
pub mod diagnostics;
pub mod input;
pub mod install_check;
pub mod notices;
pub mod operator;
mod page;
pub mod pipeline;
pub mod pixel;
pub mod setup;
pub mod snippets;
pub(crate) mod store;
pub mod unused;
pub mod usage;
pub mod view;
