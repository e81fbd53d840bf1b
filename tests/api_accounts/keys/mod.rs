//! API keys, and which credentials are accepted.

mod creators;
mod credentials;
mod credentials_after_events;
mod expiry;
mod issuing;
mod list;
mod scopes;
