//! Pixels: one per site host, with the snippet that installs it.

pub mod change;
pub mod host;
pub mod host_claim;
pub mod install_check;
pub mod operator;
pub mod pipeline;
pub mod pixel;
pub mod routes;
pub mod snippet;
pub mod snippet_mail;
pub(crate) mod store;

pub use host::SiteHost;
pub use pixel::{InstallStatus, Pixel};
