//! Character references in the attributes of a page.

/// The references that occur in addresses and policies.
const NAMED: [(&str, char); 5] =
    [("amp", '&'), ("quot", '"'), ("apos", '\''), ("lt", '<'), ("gt", '>')];

/// The longest reference that is looked at.
const LONGEST: usize = 10;

/// The text with its references replaced; what is none stays.
pub fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    let number =
        |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix(['x', 'X']) {
            Some(hex) => number(hex, 16),
            None => number(digits, 10),
        },
        None => NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character),
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn references_are_replaced_and_all_else_stays() {
        for (text, out) in [
            ("a=1&amp;b=2", "a=1&b=2"),
            ("&#39;self&#x27; &quot;", "'self' \""),
            ("&amp;amp;", "&amp;"),
            ("a&b;c&", "a&b;c&"),
            ("&#xD800;&#99999999;&;&#;", "&#xD800;&#99999999;&;&#;"),
            ("&ééééé;", "&ééééé;"),
        ] {
            assert_eq!(decoded(text), out);
        }
    }
}
