//! The home pages of sites: their elements and scripts, and findings about the installation of a pixel.

pub mod diagnostics;
pub mod page;
