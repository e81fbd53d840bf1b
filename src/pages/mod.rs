//! HTML pages, and the files that they load.

pub mod assets;
pub mod demo;
pub mod layout;
pub mod routes;
pub mod sample;
