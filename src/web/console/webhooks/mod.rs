pub mod deliveries;
pub mod webhook;
