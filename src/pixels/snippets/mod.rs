pub mod snippet;
pub mod snippet_mail;
