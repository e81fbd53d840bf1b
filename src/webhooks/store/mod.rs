pub mod claims;
pub mod deliveries;
pub mod encrypted;
pub mod endpoints;
pub mod waiting;
