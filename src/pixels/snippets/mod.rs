//! The snippet that installs a pixel, and the mail that brings it.

pub mod snippet;
pub mod snippet_mail;
