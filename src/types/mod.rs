//! Values that are parsed once and valid ever after. They know nothing of HTTP, SQL or the network.

pub mod bidi;
pub mod consent;
pub mod csv;
pub mod email;
pub mod hem;
pub mod host;
pub mod ids;
pub mod json;
pub mod locales;
pub mod mailbox;
pub mod seen_at;
pub mod text;
pub(crate) mod text_enum;
pub mod weighted;
