pub mod leases;
pub mod reports;
pub mod sites;
