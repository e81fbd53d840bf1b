pub mod authorities;
pub mod contact;
mod countries;
pub mod finding;
pub mod mailed;
pub mod mails;
pub mod of_visitor;
pub mod operator;
pub mod owner;
pub mod people;
pub mod request;
mod store;
pub mod view;
pub mod visitor;

pub use store::{
    OpenCount, delete_closed_requests, find_request, list_open_counts, list_open_counts_of,
    list_requests,
};
