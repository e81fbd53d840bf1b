//! Erasing what is kept of a visitor, because the owner wants it or the visitor asks for it.

pub mod capabilities;
pub mod mails;
pub mod operator;
pub mod owner;
pub mod request;
pub(crate) mod store;
pub mod view;
pub mod visitor;
