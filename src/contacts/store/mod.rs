//! The SQL of contacts. Pixel ids come from pixels that the caller was found to own
//! (`pixels::setup::find_for`).

pub mod consent;
pub mod reading;
pub mod usage;
pub mod withdrawn;
pub mod writing;
