//! Finds names of pixels in the text of a page.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::types::ids::{PixelId, PixelRef};

/// Maximum depth of nested escapes that are decoded: a script in an attribute, an address in a script.
const MOST_LAYERS: usize = 3;

/// Whether the text contains the pixel's id, or the address of one of its scripts with an alias. An alias
/// alone could be any word.
pub fn names_pixel(text: &str, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
    has_token(text, pixel_id.as_str())
        || aliases.iter().any(|alias| {
            has_token(text, &format!("px/{alias}.js"))
                || has_token(text, &format!("pixels/{alias}/p.js"))
        })
}

fn has_token(text: &str, token: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.match_indices(token).any(|(start, _)| {
        let (before, after) =
            (text[..start].bytes().last(), text[start + token.len()..].bytes().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Decodes the escapes of JavaScript and JSON, percent-encoding, and HTML character references in scripts.
pub fn unescaped(text: &str) -> String {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        let forms = [
            r"\\(?P<plain>[/'\x22])",
            r"\\+u\{0*(?P<braced>[0-9a-fA-F]{1,6})\}",
            r"\\+u(?P<unicode>[0-9a-fA-F]{4})",
            r"\\+x(?P<hex>[0-9a-fA-F]{2})",
            r"%(?P<percent>[2-7][0-9a-fA-F])",
            r"&#[xX]0*(?P<reference>[0-9a-fA-F]{1,6});?",
            r"&#0*(?P<decimal>[0-9]{1,7});?",
            r"&(?P<named>sol|amp|quot|lt|gt);",
        ];
        Regex::new(&forms.join("|")).expect("a regular expression")
    });
    let mut text = text.to_owned();
    for _ in 0..MOST_LAYERS {
        match ESCAPE.replace_all(&text, character) {
            Cow::Borrowed(_) => break,
            Cow::Owned(plain) => text = plain,
        }
    }
    text
}

fn character(found: &Captures<'_>) -> String {
    let hexadecimal = ["braced", "unicode", "hex", "percent", "reference"];
    let number = hexadecimal
        .iter()
        .find_map(|form| found.name(form))
        .map(|digits| u32::from_str_radix(digits.as_str(), 16))
        .or_else(|| found.name("decimal").map(|digits| digits.as_str().parse()));
    let named = || match found.name("named").map(|name| name.as_str()) {
        Some("sol") => Some('/'),
        Some("amp") => Some('&'),
        Some("quot") => Some('"'),
        Some("lt") => Some('<'),
        Some("gt") => Some('>'),
        _ => None,
    };
    let plain = || found.name("plain").and_then(|plain| plain.as_str().chars().next());
    let character = match number {
        Some(number) => number.ok().and_then(char::from_u32),
        None => named().or_else(plain),
    };
    character.map_or_else(|| found[0].to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> bool {
        let id = PixelId::from("abcDEF123".to_owned());
        names_pixel(text, &id, &[PixelRef::from("shop".to_owned())])
    }

    #[test]
    fn the_id_counts_as_a_whole_word_only() {
        for text in ["abcDEF123", "/px/abcDEF123.js", "xabcDEF123 abcDEF123\n", "ä abcDEF123ä"] {
            assert!(named(text), "{text}");
        }
        for text in ["", "abcdef123", "abcDEF1234", "xabcDEF123", "-abcDEF123", "abcDEF123_"] {
            assert!(!named(text), "{text}");
        }
    }

    #[test]
    fn an_alias_counts_in_the_address_of_a_script_only() {
        for text in ["\"https://x.example/px/shop.js\"", "'//tags.example/pixels/shop/p.js?v=1'"] {
            assert!(named(text), "{text}");
        }
        for text in ["shop", "/px/shop2.js", "/px/myshop.js", "/ppx/shop.js", "/px/shop.json"] {
            assert!(!named(text), "{text}");
        }
    }

    #[test]
    fn escapes_of_scripts_and_addresses_are_decoded() {
        let plain = "https://consent.example/px/abcDEF123.js";
        for escaped in [
            plain.replace('/', "\\/"),
            plain.replace('/', "\\\\/"),
            plain.replace('/', "\\u002F"),
            plain.replace('/', "\\u002f"),
            plain.replace('/', "\\u{2F}"),
            plain.replace('/', "\\\\u002F"),
            plain.replace('/', "\\x2f"),
            plain.replace('/', "\\x2F"),
            plain.replace('/', "%2F").replace(':', "%3a"),
            plain.replace('/', "%252F"),
            plain.replace('/', "&#x2F;"),
            plain.replace('/', "&#47;"),
            plain.replace('/', "&sol;"),
            plain.replace('/', "&amp;#x2f;"),
        ] {
            assert_eq!(unescaped(&escaped).replace('\\', ""), plain, "{escaped}");
            assert!(named(&unescaped(&escaped)), "{escaped}");
        }
        for text in ["100 %", "%zz", "\\d{4}", "&#xD800;", "&#99999999;", "&unknown;", "C:\\px"] {
            assert_eq!(unescaped(text), text);
        }
    }
}
