//! HTML pages, and the files that they load.

pub mod assets;
pub mod charts;
pub mod console;
pub mod demo;
pub mod docs;
pub mod guide;
pub mod layout;
pub mod notice;
pub mod papers;
pub mod routes;
pub mod sample;
pub mod verify;
pub mod well_known;
pub mod your_data;
