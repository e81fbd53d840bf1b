//! The service as tools for agents: an MCP server (Model Context Protocol, streamable HTTP) at
//! `/mcp`, with the functions, the answers and the sentences of the HTTP API. It is stateless: every
//! request is independent of others, so any node can answer it.

mod admission;
mod authorization;
mod catalogue;
mod indirect;
mod install_prompt;
pub mod registry;
mod resolution;
mod resources;
pub mod routes;
pub mod server;
mod tools;
