//! Pixels: one per site host, with the snippet that installs it.

pub mod capabilities;
pub mod change;
pub mod claim;
pub mod daily_looks;
pub mod doctor;
mod evidence;
pub mod host_claim;
pub mod input;
pub mod install_check;
pub mod install_state;
mod look;
pub mod notices;
pub mod operator;
mod page;
pub mod pipeline;
pub mod pixel;
pub mod setup;
mod sighting;
pub mod snippet;
pub mod snippet_mail;
pub(crate) mod store;
pub mod unused;
pub mod usage;
pub mod view;
