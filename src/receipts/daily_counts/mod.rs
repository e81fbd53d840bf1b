//! The counts of each day, in UTC or in the time zone of a site: how often the popup was shown, and what was answered.

pub mod counting;
pub mod day_tallies;
pub mod recent;
pub mod series;
pub mod stats;
pub mod tally;
