//! Deletion by age. The tables in `docs/data-retention.md` list every period.

pub mod periods;
pub mod run;
mod store;
