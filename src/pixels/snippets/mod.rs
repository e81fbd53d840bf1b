pub mod commerce_snippet;
pub mod snippet;
pub mod snippet_mail;
