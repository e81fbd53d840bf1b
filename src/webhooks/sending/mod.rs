//! Sending of pending events, by the first node that claims an endpoint.
//!
//! One node at a time sends to an endpoint: in the order of events for each pixel, and for several pixels in
//! parallel. If a node dies, its claims lapse after [`sender::CLAIM`] and other nodes continue; deliveries
//! that had arrived unrecorded are then repeated under the same id.
//!
//! Round trips to the database are batched: due deliveries are read in batches, bodies are built ahead
//! ([`bodies`]), and results are stored by one commit every few milliseconds while others are in flight
//! (`notes`).

pub mod attempt;
pub mod bodies;
pub mod dispatch;
mod health;
mod notes;
pub mod pauses;
mod pixel_queues;
pub mod sender;
mod worker;
