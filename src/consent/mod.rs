//! Consent: what visitors are told, what they answered, and the signed receipts that prove both.

pub mod appearance;
pub mod check;
pub mod configuration;
pub mod directory;
pub mod export;
pub mod log;
pub mod notice;
pub mod operator;
pub mod policy;
pub mod policy_routes;
pub mod receipt;
pub mod record;
pub mod recorder;
pub mod routes;
pub mod signing;
pub mod standings;
pub mod stats;
pub(crate) mod store;
pub mod terms;
pub mod visitor_messages;
pub mod visitor_routes;

pub use receipt::Receipt;
pub use signing::Signer;
pub use terms::{Channel, ConsentState, ControllerType, Purpose};
