//! What every route shares: bodies, parameters, problem documents, headers, limits.

pub mod body;
pub mod call;
pub mod client;
pub mod credentials;
pub mod csv;
pub(crate) mod described;
pub mod header_value;
pub mod headers;
pub mod html;
pub mod in_spans;
pub mod json;
pub mod limited;
pub mod measure;
pub mod prebuilt;
pub mod problem;
pub mod query;
pub(crate) mod refusals;
pub mod request_id;
