//! How much one client, and one pixel, may ask of the service.

pub mod client_net;
pub mod pace;
pub mod per_client;
pub mod per_pixel;
mod steady_clock;
mod sweeping;
