//! Texts that a report contains only in part.

/// Replaces the rest of a text. Addresses from a browser never contain it, because they are percent-encoded.
pub const REST: char = '…';

/// Truncates a text to `most` characters.
pub fn shorten(text: &mut String, most: usize) {
    let Some((end, _)) = text.char_indices().nth(most) else { return };
    text.truncate(end);
    // An address that ends within a percent-encoded character would be invalid.
    let part = text.rfind('%').filter(|at| at + 3 > text.len());
    text.truncate(part.unwrap_or(text.len()));
    text.push(REST);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_without_a_part_of_an_escape() {
        let texts = [
            ("https://a.example/", 18, "https://a.example/"),
            ("https://a.example/x", 18, "https://a.example/…"),
            ("https://a.example/%C3%A9", 19, "https://a.example/…"),
            ("https://a.example/%C3%A9", 20, "https://a.example/…"),
            ("https://a.example/%C3%A9", 21, "https://a.example/%C3…"),
            ("ééé", 2, "éé…"),
        ];
        for (whole, most, shortened) in texts {
            let mut text = whole.to_owned();
            for _ in 0..2 {
                shorten(&mut text, most);
                assert_eq!(text, shortened, "{whole} after {most}");
            }
        }
    }
}
