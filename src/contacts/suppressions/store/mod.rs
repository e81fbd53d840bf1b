mod entries;
mod imports;

pub use entries::*;
pub use imports::*;
