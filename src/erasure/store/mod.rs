mod mails;
mod requests;

pub use mails::*;
pub use requests::*;
