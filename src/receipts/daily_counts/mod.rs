//! The counts of each UTC day: how often the popup was shown, and what was answered.

pub mod counting;
pub mod day_tallies;
pub mod recent;
pub mod series;
pub mod stats;
pub mod tally;
