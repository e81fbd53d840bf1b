//! Isolates untrusted text within sentences, so that it cannot reorder the words around it.

use std::borrow::Cow;

/// Embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex #9),
/// which change the order in which a text and what follows it are displayed.
fn is_control(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text without these characters.
pub fn plain(text: &str) -> Cow<'_, str> {
    match text.contains(is_control) {
        true => Cow::Owned(text.replace(is_control, "")),
        false => Cow::Borrowed(text),
    }
}

pub fn isolated(text: &str) -> String {
    format!("\u{2068}{}\u{2069}", plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_turn_what_stands_around_it() {
        let hostile = "Shop\u{2069}\u{202e}ton\u{202c} si\u{2067} it\u{2066}";
        assert_eq!(plain(hostile), "Shopton si it");
        assert_eq!(isolated(hostile), "\u{2068}Shopton si it\u{2069}");
    }

    #[test]
    fn texts_of_either_direction_stay_as_they_are() {
        for text in ["Shop & Söhne", "متجر هالدن", "\u{200f}חנות\u{200e} Ltd", "東京商店"]
        {
            assert!(matches!(plain(text), Cow::Borrowed(same) if same == text));
        }
    }
}
