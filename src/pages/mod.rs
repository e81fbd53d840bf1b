//! HTML pages, and the files that they load.

pub mod assets;
pub mod routes;
