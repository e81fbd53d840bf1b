pub mod reports;
pub mod sites;
pub mod turns;
