//! Telling customers' own servers what happens: their addresses, what is sent there, and how it went.
//!
//! What happened is written by the features in the transaction that causes it (`infra::events`). Here
//! one node at a time sends what waits for an endpoint (`sending`), signed as standardwebhooks.com
//! says, with a body that is made of the present state at every attempt (`body`, `news`).

pub mod body;
pub mod capabilities;
pub mod chat;
pub mod delivery;
pub mod endpoint;
pub mod endpoints;
pub mod format;
pub mod input;
pub mod news;
pub mod paused_mail;
pub mod pausing;
pub mod replay;
pub mod resealing;
pub mod sending;
pub mod signing;
pub mod store;
pub mod trial;
