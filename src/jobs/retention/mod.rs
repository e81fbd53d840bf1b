//! What is deleted by age. The table in the README names every period.

pub mod periods;
pub mod run;
mod store;
