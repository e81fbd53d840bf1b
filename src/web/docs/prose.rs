use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize)]
pub struct Prose {
    pub text: String,
    pub is_code: bool,
}

/// Markdown, of which only code spans are supported.
pub fn prose(text: &Value) -> Vec<Prose> {
    let pieces = text.as_str().unwrap_or_default().split('`').enumerate();
    pieces
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(index, piece)| Prose { text: piece.to_owned(), is_code: index % 2 == 1 })
        .collect()
}
