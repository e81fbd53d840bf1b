//! JSON from outside: how strict it must be, how large it may be, and where it does not fit a type.

pub mod bounds;
pub mod compact;
pub mod entries;
pub mod shape;
pub mod strict;
