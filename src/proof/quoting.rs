use std::fmt::Write;

/// Maximum number of quoted characters. The number of the others is stated.
const LONGEST: usize = 256;

/// The text in quotation marks. Characters other than printable ASCII are shown by code point, so
/// that they cannot break the line, change the writing direction, hide characters, or look alike.
pub fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for character in text.chars().take(LONGEST) {
        match character {
            '"' | '\\' => written.extend(['\\', character]),
            ' '..='~' => written.push(character),
            other => drop(write!(written, "\\u{{{:x}}}", u32::from(other))),
        }
    }
    written.push('"');
    let more = text.chars().count().saturating_sub(LONGEST);
    if more > 0 {
        let _ = write!(written, " (and {more} characters more)");
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_quotation_or_imitate_another_one() {
        let cases = [
            ("v-1", r#""v-1""#),
            ("", r#""""#),
            (r#"a" b\"#, r#""a\" b\\""#),
            ("a\nb\r\t\u{0}", r#""a\u{a}b\u{d}\u{9}\u{0}""#),
            ("\u{1b}[31mred", r#""\u{1b}[31mred""#),
            ("\u{202e}gnp\u{2066}", r#""\u{202e}gnp\u{2066}""#),
            ("N\u{43e} time\u{a0}stamp\u{200b}", r#""N\u{43e} time\u{a0}stamp\u{200b}""#),
            ("<b>\u{1f600}é", r#""<b>\u{1f600}\u{e9}""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn a_long_text_is_truncated_and_its_length_is_stated() {
        let long = quoted(&"é".repeat(10_000));
        assert!(long.ends_with("\\u{e9}\" (and 9744 characters more)"), "{long}");
        assert_eq!(long.matches("\\u{e9}").count(), LONGEST);
        assert!(!quoted(&"a".repeat(LONGEST)).contains("more"));
    }
}
