//! Opening an account and confirming its address.

mod confirmation;
mod confirmation_mails;
mod mail_failures;
mod operator_signups;
mod sign_in_limits;
mod signup_codes;
mod signup_rejection;
mod signups;
