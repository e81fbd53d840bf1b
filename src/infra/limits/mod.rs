pub mod account_rate;
pub mod client_net;
pub mod exports;
pub mod per_account;
pub mod per_client;
pub mod per_pixel;
pub mod standing;
mod steady_clock;
mod sweeping;
