pub mod capabilities;
pub mod mails;
pub mod operator;
pub mod owner;
pub mod request;
pub(crate) mod store;
pub mod view;
pub mod visitor;
