//! Sending of pending events, by the first node that claims an endpoint. One node sends to an
//! endpoint: in the order of events for each pixel, for several pixels in parallel. If it dies, its
//! claims lapse after [`sender::CLAIM`]; deliveries that arrived unrecorded are then repeated under
//! the same id. Round trips to the database are batched: deliveries are read in batches, bodies are
//! built ahead ([`bodies`]), and results are stored by one commit every few milliseconds (`result_writer`).
//! Runs for different endpoints share reads and commits (`shared`).

pub mod attempt;
pub mod bodies;
pub mod dispatch;
mod health;
pub mod outcome;
pub mod pauses;
mod pixel_queues;
mod result_writer;
pub mod sender;
mod shared;
mod worker;
