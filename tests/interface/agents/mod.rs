//! The tool server for agents.

mod message_limits;
mod official_client;
mod protocol;
mod refusals;
