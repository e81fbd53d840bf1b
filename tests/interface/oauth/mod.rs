//! OAuth 2.1 for the tool server: apps that connect by its address alone.

mod attacks;
mod clients;
mod endings;
mod flow;
