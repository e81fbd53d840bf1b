//! What of a page's HTML is at work.

/// The page without its comments, each replaced by a space. What looks like one inside of a script or
/// of an attribute is none.
pub fn without_comments(page: &[u8]) -> Vec<u8> {
    let (mut kept, mut rest) = (Vec::with_capacity(page.len()), page);
    while let Some(start) = rest.iter().position(|&byte| byte == b'<') {
        kept.extend_from_slice(&rest[..start]);
        rest = &rest[start..];
        let (part, after) = rest.split_at(match rest.strip_prefix(b"<!--") {
            Some(comment) => 4 + end_of_comment(comment),
            None => end_of_tag(rest),
        });
        match part.starts_with(b"<!--") {
            true => kept.push(b' '),
            false => kept.extend_from_slice(part),
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    kept
}

/// Where a comment ends, after its `<!--` (HTML, section 13.2.5.43 and on).
pub fn end_of_comment(comment: &[u8]) -> usize {
    for abrupt in [&b">"[..], b"->"] {
        if comment.starts_with(abrupt) {
            return abrupt.len();
        }
    }
    let ends = [&b"-->"[..], b"--!>"];
    let end_at = |at: usize| {
        let end = ends.into_iter().find(|end| comment[at..].starts_with(end));
        end.map(|end| at + end.len())
    };
    (0..comment.len()).find_map(end_at).unwrap_or(comment.len())
}

/// Where a tag ends, of a script with all that it holds. Anything else that begins like one is a
/// single character.
fn end_of_tag(tag: &[u8]) -> usize {
    if !tag.get(1).is_some_and(u8::is_ascii_alphabetic) {
        return 1;
    }
    let mut quote = None;
    let end = tag.iter().position(|&byte| {
        match quote {
            Some(open) if byte == open => quote = None,
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            _ => {}
        }
        quote.is_none() && byte == b'>'
    });
    let Some(end) = end.map(|end| end + 1) else { return tag.len() };
    let is_script = tag[1..].get(..6).is_some_and(|name| name.eq_ignore_ascii_case(b"script"))
        && !tag.get(7).is_some_and(u8::is_ascii_alphanumeric);
    match is_script {
        true => end + end_of_script(&tag[end..]),
        false => end,
    }
}

fn end_of_script(text: &[u8]) -> usize {
    const END: &[u8] = b"</script";
    let end = text.windows(END.len()).position(|part| part.eq_ignore_ascii_case(END));
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(page: &str) -> String {
        String::from_utf8(without_comments(page.as_bytes())).unwrap()
    }

    #[test]
    fn comments_go_and_all_else_stays() {
        for (page, left) in [
            ("a<!-- b -->c", "a c"),
            ("a<!-- b --!>c<!--d-->", "a c "),
            ("a<!-->b<!--->c", "a b c"),
            ("a<!-- b", "a "),
            ("a<!-- <script src=x></script> -->b", "a b"),
            ("<p><!--[if IE]><script>1</script><![endif]--></p>", "<p> </p>"),
        ] {
            assert_eq!(kept(page), left);
        }
    }

    #[test]
    fn what_only_looks_like_a_comment_stays() {
        for page in [
            "a < b <b>c</b> <!doctype html> <",
            "<script><!-- run() //--></script>",
            "<SCRIPT>a(\"<!--\")</SCRIPT>b",
            "<a title=\"<!--\">b</a> <a title='-->\"<!--'>",
            "<script>never closed <!-- b -->",
            "<a title=\"never closed <!- b",
        ] {
            assert_eq!(kept(page), page);
        }
    }
}
