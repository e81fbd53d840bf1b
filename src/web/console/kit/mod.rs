//! What screens are made of.

pub mod browser;
pub mod cookies;
pub mod day_range;
pub mod file_form;
pub mod form;
pub mod member;
pub mod plan_summary;
pub mod proof;
pub mod refusal;
pub mod reply;
pub mod screen;
pub mod words;
