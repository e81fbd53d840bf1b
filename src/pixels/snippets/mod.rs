//! The snippet that installs a pixel, and the mail that brings it.

pub mod commerce_snippet;
pub mod snippet;
pub mod snippet_mail;
