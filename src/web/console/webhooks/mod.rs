pub mod deliveries;
pub mod delivery_list;
pub mod webhook;
