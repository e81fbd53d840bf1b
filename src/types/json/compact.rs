//! Minimises JSON: removes spaces between values and unnecessary escapes. Numbers and the order of
//! keys are preserved. Parsing into a tree of values would preserve neither, because its numbers
//! have 64 bits.

/// The text must be valid JSON.
pub fn compact(text: &str) -> Result<String, serde_json::Error> {
    let mut compacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let (before, string) = rest.split_at(start);
        push_without_spaces(&mut compacted, before);
        let (string, after) = string.split_at(string_len(string));
        match string.contains('\\') {
            true => {
                let meant = serde_json::from_str::<String>(string)?;
                compacted.push_str(&serde_json::to_string(&meant)?);
            }
            false => compacted.push_str(string),
        }
        rest = after;
    }
    push_without_spaces(&mut compacted, rest);
    Ok(compacted)
}

fn push_without_spaces(compacted: &mut String, text: &str) {
    compacted.extend(text.split([' ', '\t', '\n', '\r']));
}

/// Length in bytes of the string at the beginning of a text, including its quotes.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn numbers_and_the_order_of_keys_stay_as_they_were_sent() {
        for (sent, compacted) in [
            (
                "{ \"n\" : 18446744073709551616 ,\n\"a\":\t[1E2 , -0, -0.0, 1.10, 1e-400, 1e+400]}\r\n",
                "{\"n\":18446744073709551616,\"a\":[1E2,-0,-0.0,1.10,1e-400,1e+400]}",
            ),
            (r#"{"z":1,"a":{"z":null,"b":true}}"#, r#"{"z":1,"a":{"z":null,"b":true}}"#),
            (" { } ", "{}"),
            ("12345678901234567890123", "12345678901234567890123"),
        ] {
            assert_eq!(compact(sent).unwrap(), compacted);
        }
    }

    #[test]
    fn texts_keep_their_meaning_and_lose_unnecessary_escapes() {
        for (sent, compacted) in [
            (r#""a b\t{ }""#, r#""a b\t{ }""#),
            (r#"{"\u00e9" : "\ud83d\ude00\/"}"#, r#"{"é":"😀/"}"#),
            (r#"["\\" , "\"" , "\\\" ]"]"#, r#"["\\","\"","\\\" ]"]"#),
            (r#""\u0007\u001F\u2028""#, "\"\\u0007\\u001f\u{2028}\""),
        ] {
            assert_eq!(compact(sent).unwrap(), compacted);
            let value = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(value(sent), value(compacted));
        }
    }
}
