pub mod bounds;
pub mod compact;
pub mod entries;
pub mod shape;
pub mod strict;
