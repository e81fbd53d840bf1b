//! The tool server for agents.

mod budget;
mod message_limits;
mod official_client;
mod protocol;
mod refusals;
mod toolsets;
