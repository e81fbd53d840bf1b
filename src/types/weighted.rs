//! Weighted lists in the headers of content negotiation (RFC 9110, section 12.4.2). The crate `headers` has
//! no types for `Accept`, `Accept-Encoding` and `Accept-Language`.

/// The weight of an item that states none, in thousandths.
const FULL: u16 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighted<'a> {
    pub value: &'a str,
    pub parameters: &'a str,
    /// In thousandths. 0 means that the item is not acceptable.
    pub weight: u16,
}

/// The items of a list in their order, without empty ones and those with an invalid weight.
pub fn items(list: &str) -> impl Iterator<Item = Weighted<'_>> {
    split(list, b',').filter_map(item)
}

fn item(text: &str) -> Option<Weighted<'_>> {
    let mut parts = split(text, b';');
    let value = parts.next()?.trim();
    if value.is_empty() {
        return None;
    }
    let parameters_start = text.find(';').map_or(text.len(), |semicolon| semicolon + 1);
    let mut weight = None;
    let mut parameters_end = text.len();
    for part in parts {
        let (name, number) = part.split_once('=').unwrap_or((part, ""));
        if name.trim().eq_ignore_ascii_case("q") {
            weight = Some(read_weight(number.trim())?);
            parameters_end = part.as_ptr() as usize - text.as_ptr() as usize - 1;
            break;
        }
    }
    let parameters = text.get(parameters_start..parameters_end).unwrap_or_default().trim();
    Some(Weighted { value, parameters, weight: weight.unwrap_or(FULL) })
}

/// A number from 0 to 1. Some clients omit the zero before the decimal point.
fn read_weight(number: &str) -> Option<u16> {
    let is_decimal = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = number.parse::<f32>().ok().filter(|number| is_decimal && *number <= 1.0)?;
    Some((number * f32::from(FULL)).round() as u16)
}

fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = text.bytes().position(|byte| {
            let ends = byte == separator && !is_quoted;
            is_quoted ^= byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && is_quoted && !is_escaped;
            ends
        });
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}

/// The degree to which a representation is accepted. Ordered by weight, then by how specifically it is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fit {
    pub weight: u16,
    pub closeness: Closeness,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    #[default]
    Any,
    Kind,
    Name,
}

/// The degree to which `Accept` accepts a media type without parameters except its charset (RFC 9110,
/// section 12.5.1). The most specific matching range counts.
pub fn fit_of_media_type(accept: &str, media_type: &str) -> Fit {
    let kind = media_type.split('/').next().unwrap_or_default();
    let mut best: Option<Fit> = None;
    for Weighted { value, parameters, weight } in items(accept) {
        let closeness = match value.split_once('/') {
            _ if value.eq_ignore_ascii_case(media_type) => Closeness::Name,
            Some((range, "*")) if range.eq_ignore_ascii_case(kind) => Closeness::Kind,
            Some(("*", "*")) => Closeness::Any,
            _ => continue,
        };
        if !parameters.is_empty() && !parameters.eq_ignore_ascii_case("charset=utf-8") {
            continue;
        }
        let is_closer = best.is_none_or(|best| (closeness, weight) > (best.closeness, best.weight));
        if is_closer {
            best = Some(Fit { weight, closeness });
        }
    }
    best.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(list: &str) -> Vec<(&str, u16)> {
        items(list).map(|item| (item.value, item.weight)).collect()
    }

    #[test]
    fn values_and_weights_are_read_in_their_order() {
        for (list, expected) in [
            ("gzip, br", &[("gzip", 1_000), ("br", 1_000)][..]),
            ("gzip;q=0.5,br ; Q = 1.000", &[("gzip", 500), ("br", 1_000)]),
            ("a;q=0, b;q=0.000, c;q=.2, d;q=0.", &[("a", 0), ("b", 0), ("c", 200), ("d", 0)]),
            ("\t de-AT ,, ;q=1 ,*;q=0.001", &[("de-AT", 1_000), ("*", 1)]),
            ("a;q=x, b;q=-1, c;q=1.1, d;q=nan, e;q=1e-1, f;q=, g;q=inf", &[]),
            ("", &[]),
        ] {
            assert_eq!(weights(list), expected, "{list:?}");
        }
    }

    #[test]
    fn separators_in_quoted_strings_are_ignored() {
        let list = r#"text/html;a="x,y;q=0\",";b=1;q=0.5;c=2, text/plain"#;
        let items = items(list).collect::<Vec<_>>();
        assert_eq!(
            items[0],
            Weighted { value: "text/html", parameters: r#"a="x,y;q=0\",";b=1"#, weight: 500 }
        );
        assert_eq!(items[1], Weighted { value: "text/plain", parameters: "", weight: 1_000 });
    }

    #[test]
    fn the_most_specific_range_decides_about_a_media_type() {
        let fit = |accept| {
            let Fit { weight, closeness } = fit_of_media_type(accept, "text/html");
            (weight, closeness)
        };
        for (accept, weight, closeness) in [
            ("text/html", 1_000, Closeness::Name),
            ("TEXT/HTML;charset=UTF-8;q=0.3", 300, Closeness::Name),
            ("*/*;q=0.1, text/*;q=0.2", 200, Closeness::Kind),
            ("*/*, text/*;q=0.9, text/html;q=0", 0, Closeness::Name),
            ("text/html;q=0, text/html;q=0.4", 400, Closeness::Name),
            ("text/html;level=1;q=0, */*;q=0.5", 500, Closeness::Any),
            ("application/json, *", 0, Closeness::Any),
            ("", 0, Closeness::Any),
        ] {
            assert_eq!(fit(accept), (weight, closeness), "{accept}");
        }
    }
}
