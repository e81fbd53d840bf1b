pub mod deliveries;
pub mod delivery_list;
mod failure;
pub mod webhook;
