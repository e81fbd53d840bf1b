//! Which account has a host, and how a host is claimed.

pub mod claim;
mod evidence;
pub mod host_claim;
