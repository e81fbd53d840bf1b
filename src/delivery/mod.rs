//! The scripts that sites load: prebuilt bytes per pixel, and what the tag asks.

pub mod bundles;
mod compressor;
pub mod configs;
pub mod prebuilt;
pub mod table;
