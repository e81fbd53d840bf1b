//! Code without its comments and texts.

/// Rust without comments and the contents of literals. Every line keeps its number.
pub fn rust_without_texts(source: &str) -> String {
    without(source, |rest| match rest.chars().next() {
        Some('/') if rest.starts_with("//") => line_length(rest),
        Some('r') => raw_string_length(rest),
        Some('"') => string_length(rest, b'"'),
        Some('\'') => character_length(rest),
        _ => 0,
    })
}

/// Python without comments and the contents of strings.
pub fn python_without_texts(source: &str) -> String {
    const LONG: &str = "\"\"\"";
    without(source, |rest| match rest.chars().next() {
        Some('#') => line_length(rest),
        Some('"') if rest.starts_with(LONG) => LONG.len() + end_of(&rest[LONG.len()..], LONG),
        Some('"') => string_length(rest, b'"'),
        Some('\'') => string_length(rest, b'\''),
        _ => 0,
    })
}

/// The text with a space instead of every part whose length `skipped` returns, and with the line breaks of the part.
fn without(source: &str, skipped: impl Fn(&str) -> usize) -> String {
    let mut rest = source;
    let mut code = String::new();
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest);
        if length == 0 {
            code.push(first);
        } else {
            code.push(' ');
            code.extend(rest[..length].matches('\n'));
        }
        rest = &rest[length.max(first.len_utf8())..];
    }
    code
}

/// The length of the text up to the end of its line.
fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// The length of the text up to the end of `mark`, or of the whole text.
fn end_of(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

/// The length of a raw string at the beginning of a text, 0 if there is none.
fn raw_string_length(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|character| *character == '#').count();
    let quote = 1 + hashes;
    if !text[quote..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    quote + 1 + end_of(&text[quote + 1..], &end)
}

/// The length of a string with escapes at the beginning of a text, between two of `mark`.
fn string_length(text: &str, mark: u8) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            _ if byte == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal at the beginning of a text, 0 for a lifetime.
fn character_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        // The escaped character may be a quotation mark.
        (Some((_, '\\')), Some((at, escaped))) => {
            let after = at + escaped.len_utf8();
            after + end_of(&text[after..], "'")
        }
        (_, Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

#[test]
fn comments_and_literals_are_left_out() {
    let code = "let s = \"a \\\" letter\n\"; // letter\nlet c = '\"'; let seat = r#\"letter \"# ;\nlet e = '\\'';";
    let left = rust_without_texts(code);
    assert!(!left.contains("letter") && !left.contains('"'), "{left}");
    assert!(left.contains("let seat =") && left.ends_with("let e =  ;"), "{left}");
    assert_eq!(left.lines().count(), code.lines().count());
    assert_eq!(rust_without_texts("b'{' '\\u{7d}' &'a str"), "b    &'a str");
}

#[test]
fn comments_and_strings_of_python_are_left_out() {
    let code = "\"\"\"told\n\"\"\"\nseat = f\"told {told}\"  # told\nname = 'told \\' told'\n";
    let left = python_without_texts(code);
    assert!(
        !left.contains("told") && left.contains("seat = f") && left.contains("name ="),
        "{left}"
    );
    assert_eq!(left.lines().count(), code.lines().count());
}
