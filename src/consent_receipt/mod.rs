//! A consent receipt: the signed answer of a visitor, what was shown, and its leaf in the public log.

pub mod leaf;
pub mod notice_snapshot;
pub mod receipt;
pub mod signing;
pub mod user_action;
