//! Origins to which `Link` headers ask a browser to connect (RFC 8288, `rel=preconnect`). Chromium does not always make
//! the connection, so verdicts count the header itself.

use url::Url;

/// The origins in the value of a `Link` header of a document.
pub fn preconnected(value: &str, document: &str) -> Vec<String> {
    let Ok(base) = Url::parse(document) else { return Vec::new() };
    let targets = links(value).into_iter().filter(|(_, parameters)| is_preconnect(parameters));
    let urls = targets.filter_map(|(target, _)| base.join(target.trim()).ok());
    let urls = urls.filter(|url| matches!(url.scheme(), "http" | "https"));
    urls.map(|url| url.origin().ascii_serialization()).collect()
}

/// The links of a value, with their parameters. Commas and semicolons may be within quotes.
fn links(value: &str) -> Vec<(&str, Vec<&str>)> {
    let mut links = Vec::new();
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, after)) = after.split_once('>') else { break };
        let end = outside_quotes(after, ',').next().unwrap_or(after.len());
        links.push((target, parameters(&after[..end])));
        rest = &after[end..];
    }
    links
}

fn parameters(text: &str) -> Vec<&str> {
    let ends = outside_quotes(text, ';').chain([text.len()]);
    let mut start = 0;
    ends.map(|end| &text[std::mem::replace(&mut start, end + 1)..end]).collect()
}

/// The positions of an ASCII character outside quotes.
fn outside_quotes(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut is_quoted = false;
    text.char_indices().filter_map(move |(at, character)| {
        is_quoted ^= character == '"';
        (character == wanted && !is_quoted).then_some(at)
    })
}

fn is_preconnect(parameters: &[&str]) -> bool {
    let mut pairs = parameters.iter().filter_map(|parameter| parameter.split_once('='));
    let rel = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("rel"));
    rel.is_some_and(|(_, kinds)| {
        let mut kinds = kinds.trim().trim_matches('"').split_ascii_whitespace();
        kinds.any(|kind| kind.eq_ignore_ascii_case("preconnect"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_origins() {
        for (value, expected) in [
            ("<https://cdn.example/x>; rel=preconnect", &["https://cdn.example"][..]),
            (
                "<https://a.example:81>;crossorigin; REL = \"dns-prefetch PreConnect\"",
                &["https://a.example:81"],
            ),
            (
                "<//b.example>; title=\"a, <b>; c\"; rel=preconnect, <http://c.example>; rel=preconnect",
                &["https://b.example", "http://c.example"],
            ),
            ("<https://d.example/s.js>; rel=preload; as=script", &[]),
            ("<https://d.example>; rel=next; rel=preconnect", &[]),
            ("<https://d.example>; title=\"; rel=preconnect\"", &[]),
            ("<data:text/plain,x>; rel=preconnect", &[]),
            ("<https://d.example; rel=preconnect", &[]),
            ("", &[]),
            ("é<>;é=\"", &[]),
        ] {
            assert_eq!(preconnected(value, "https://shop.example/p"), expected, "{value}");
        }
        assert_eq!(
            preconnected("</>; rel=preconnect", "https://shop.example/p"),
            ["https://shop.example"]
        );
    }
}
