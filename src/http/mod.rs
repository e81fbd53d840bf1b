//! What every route shares: bodies, parameters, problem documents, headers, limits.

pub mod allowed_methods;
pub mod body;
pub mod client;
pub mod cors;
pub(crate) mod described;
pub mod headers;
pub mod html;
pub mod json;
pub mod measure;
pub mod problem;
pub mod query;
pub mod rate_limit;
pub(crate) mod refusals;
pub mod request_id;
pub mod strict_json;
