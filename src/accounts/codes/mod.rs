pub mod account_code_order;
pub mod account_codes;
pub mod code_mail;
pub mod code_purpose;
