pub mod claim;
mod evidence;
pub mod host_claim;
pub mod opening;
