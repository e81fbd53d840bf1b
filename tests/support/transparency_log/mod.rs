//! The public log, its witnesses, proofs and time stamps.

pub mod authority;
pub mod log;
pub mod made_proofs;
pub mod proofs;
pub mod public_log;
pub mod witnesses;
