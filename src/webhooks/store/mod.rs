pub mod claims;
pub mod deliveries;
pub mod endpoints;
pub mod sealed;
pub mod waiting;
