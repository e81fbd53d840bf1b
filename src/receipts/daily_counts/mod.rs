//! The numbers of impressions and choices per day, in UTC or in the time zone of a site.

pub mod counting;
pub mod day_tallies;
pub mod recent;
pub mod series;
pub mod stats;
pub mod tally;
