//! Pixels: one per site host, with the snippet that installs it.

pub mod host;
pub mod operator;
pub mod pixel;
pub mod routes;
pub mod snippet;
pub(crate) mod store;

pub use host::SiteHost;
pub use pixel::{InstallStatus, Pixel};
