//! HTML pages, and the files that they load.

pub mod assets;
pub mod demo;
pub mod docs;
pub mod guide;
pub mod layout;
pub mod routes;
pub mod sample;
pub mod well_known;
