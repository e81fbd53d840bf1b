//! What is deleted by age. The tables in `docs/data-retention.md` name every period.

pub mod periods;
pub mod run;
mod store;
