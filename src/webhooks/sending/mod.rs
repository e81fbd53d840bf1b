//! Sending what waits, by whichever node claims an endpoint first.
//!
//! One node at a time sends to an endpoint: in the order in which things happened on a pixel, several
//! pixels side by side. A node that dies loses its claims after [`sender::CLAIM`], and others go on; what
//! had arrived without being noted then arrives again, under the same id.
//!
//! What costs a round trip to the database is done for many at a time: what is due is read in batches,
//! bodies are made for those that are next ([`bodies`]), and how it went is noted by one commit every few
//! milliseconds while others are under way (`notes`).

pub mod attempt;
pub mod bodies;
pub mod dispatch;
mod health;
mod lanes;
mod notes;
pub mod pauses;
pub mod sender;
mod worker;
