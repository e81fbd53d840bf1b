//! Messages to the tool server: how they arrive, who sent them, the calls in them, and how these are answered. `mcp`
//! has the tools and the routes.

pub mod bearer;
pub mod call;
pub mod invalid_input;
pub mod message;
pub mod outcome;
mod permits;
pub mod tool_server;
pub mod toolset;
