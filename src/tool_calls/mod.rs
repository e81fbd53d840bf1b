//! Messages to the tool server: their reception, their senders, the calls in them, and the answers. The tools and the
//! routes are in `mcp`.

pub mod bearer;
pub mod call;
pub mod invalid_input;
pub mod message;
pub mod outcome;
mod permits;
pub mod tool_server;
pub mod toolset;
