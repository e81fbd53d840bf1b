//! What can be asked for about pixels.

pub mod claims;
pub mod install;
pub mod pixels;
