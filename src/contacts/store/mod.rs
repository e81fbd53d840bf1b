//! The SQL of contacts. The caller must have checked that it owns the pixels (`pixels::setup::find_for`).

pub mod consent;
pub mod people;
pub mod reading;
pub mod usage;
pub mod withdrawn;
pub mod writing;
