//! The screens of servers that are told what happens.

pub mod deliveries;
pub mod webhook;
