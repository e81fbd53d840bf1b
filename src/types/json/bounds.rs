//! The number of values in a JSON text and their depth, counted in its bytes. A tree of values
//! takes up to a hundred times the memory of its text (`[{"":0},…]`), so the text is checked before
//! it is parsed.

#[derive(Clone, Copy)]
pub struct Bounds {
    /// Values, including containers.
    pub values: usize,
    pub depth: usize,
}

/// Whether a text is within its bounds. An empty container counts as two values. Accepts invalid JSON.
pub fn is_within(text: &[u8], bounds: Bounds) -> bool {
    let (mut values, mut depth) = (1_usize, 0_usize);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b',' => values += 1,
            b'{' | b'[' => (values, depth) = (values + 1, depth + 1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if values > bounds.values || depth > bounds.depth {
            return false;
        }
    }
    true
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(text: &str) -> (usize, usize) {
        let fits = |values, depth| is_within(text.as_bytes(), Bounds { values, depth });
        let values = (0..100).find(|&values| fits(values, 100)).unwrap();
        (values, (0..100).find(|&depth| fits(100, depth)).unwrap())
    }

    #[test]
    fn values_and_levels_are_counted() {
        for (text, values, depth) in [
            ("7", 1, 0),
            ("[1, 2, 3]", 4, 1),
            (r#"{"a": {"b": [null, "x"]}, "c": true}"#, 6, 3),
            (r#"[{"":0},{"":0}]"#, 5, 2),
            ("[[],[]]", 5, 2),
        ] {
            assert_eq!(least(text), (values, depth), "{text}");
        }
    }

    #[test]
    fn what_stands_in_a_string_is_no_value() {
        for text in [r#""[1,[2,{}""#, r#""\"[[,,""#, r#""\\""#, "\"unended,[[", r#""\"#] {
            assert_eq!(least(text), (1, 0), "{text}");
        }
        assert_eq!(least(r#"["\\",["\""]]"#), (4, 2));
    }

    #[test]
    fn what_is_no_json_is_counted_as_well_as_it_can_be() {
        for text in ["", "]]]]", "}{", "\u{0}"] {
            assert!(is_within(text.as_bytes(), Bounds { values: 10, depth: 2 }), "{text}");
        }
        assert!(!is_within(&[b'['; 1_000_000], Bounds { values: 10_000_000, depth: 64 }));
    }
}
