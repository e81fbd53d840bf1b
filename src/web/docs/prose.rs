//! Descriptions as runs of text and of code.

use serde::Serialize;
use serde_json::Value;

/// A run of text, or of code.
#[derive(Debug, Serialize)]
pub struct Prose {
    pub text: String,
    pub is_code: bool,
}

/// A description's Markdown, of which only code spans mean something here.
pub fn prose(text: &Value) -> Vec<Prose> {
    let pieces = text.as_str().unwrap_or_default().split('`').enumerate();
    pieces
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(place, piece)| Prose { text: piece.to_owned(), is_code: place % 2 == 1 })
        .collect()
}
