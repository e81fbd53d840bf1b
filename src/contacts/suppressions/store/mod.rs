//! The SQL of suppressions and of lists of them that are imported.

mod entries;
mod imports;

pub use entries::*;
pub use imports::*;
