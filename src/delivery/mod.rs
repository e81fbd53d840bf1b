//! The scripts that sites load: prebuilt bytes per pixel, and what the tag asks.

pub mod bundles;
pub mod configs;
pub mod prebuilt;
