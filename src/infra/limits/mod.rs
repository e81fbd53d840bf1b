pub mod account_rate;
pub mod client_net;
pub mod exports;
pub mod limit_status;
pub mod per_account;
pub mod per_client;
pub mod per_pixel;
mod steady_clock;
mod sweeping;
