mod bounded;
mod fresh;

pub use self::bounded::{Bounds, Cache};
pub use self::fresh::FreshCache;
