//! The translatable texts of an HTML template, each with its inline tags and Tera expressions. A text ends at
//! the start or the end of any other element. Elements with `translate="no"` are left out.

use std::ops::Range;

use super::tokens::{Kind, Token, is_tag, is_words, len_of_tera, outside_of_tera, tokens};

const ATTRIBUTES: [&str; 10] = [
    "alt",
    "aria-label",
    "data-copy",
    "data-copied",
    "data-exists",
    "data-failed",
    "data-label",
    "data-select",
    "placeholder",
    "title",
];

/// The ranges of the texts in a template, in order.
pub fn segments(source: &str) -> Vec<Range<usize>> {
    let (mut found, mut run) = (Vec::new(), Vec::new());
    for token in tokens(source) {
        if token.kind == Kind::Boundary {
            collect(source, &run, &mut found);
            run.clear();
            attributes(&token, &mut found);
        } else {
            run.push(token);
        }
    }
    collect(source, &run, &mut found);
    found.sort_by_key(|range| range.start);
    found
}

/// The id of a text in catalogues: the text with single spaces.
pub fn id_of(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces the texts at these ranges with their translations. Texts that `find` does not know stay in English.
pub fn translated(
    source: &str,
    ranges: Vec<Range<usize>>,
    find: impl Fn(&str) -> Option<String>,
) -> String {
    let (mut text, mut at) = (String::with_capacity(source.len()), 0);
    for range in ranges {
        let Some(found) = find(&id_of(&source[range.clone()])) else { continue };
        text.push_str(&source[at..range.start]);
        text.push_str(&found);
        at = range.end;
    }
    text.push_str(&source[at..]);
    text
}

fn collect(source: &str, run: &[Token<'_>], found: &mut Vec<Range<usize>>) {
    let is_blank = |token: &Token<'_>| token.kind == Kind::Text && token.text.trim().is_empty();
    let first = run.iter().position(|token| !is_blank(token));
    let last = run.iter().rposition(|token| !is_blank(token));
    let (Some(first), Some(last)) = (first, last) else { return };
    let run = &run[first..=last];
    if !has_words(run) {
        run.iter().for_each(|token| attributes(token, found));
    } else if !is_balanced(run) {
        for part in run.split(|token| token.kind == Kind::Statement) {
            collect(source, part, found);
        }
    } else if is_text(run) {
        let text = &source[run[0].at..run[run.len() - 1].end()];
        let start = run[0].at + (text.len() - text.trim_start().len());
        found.push(start..start + text.trim().len());
    } else {
        elements(source, run, found);
    }
}

/// Collects the texts of inline elements that have no text between them.
fn elements(source: &str, run: &[Token<'_>], found: &mut Vec<Range<usize>>) {
    let (mut depth, mut start, mut is_literal) = (0, 0, false);
    for (at, token) in run.iter().enumerate() {
        match token.kind {
            Kind::Open => {
                if depth == 0 {
                    attributes(token, found);
                    (start, is_literal) = (at + 1, token.is_literal());
                }
                depth += 1;
            }
            Kind::Close => {
                depth -= 1;
                if depth == 0 && !is_literal {
                    collect(source, &run[start..at], found);
                }
            }
            _ => {}
        }
    }
}

fn has_words(run: &[Token<'_>]) -> bool {
    let mut literal = None::<(&str, usize)>;
    for token in run {
        let name = token.name();
        literal = match (literal, token.kind) {
            (None, Kind::Open) if token.is_literal() => Some((name, 1)),
            (Some((open, depth)), Kind::Open) if open == name => Some((open, depth + 1)),
            (Some((open, 1)), Kind::Close) if open == name => None,
            (Some((open, depth)), Kind::Close) if open == name => Some((open, depth - 1)),
            (kept, _) => kept,
        };
        if literal.is_none() && token.kind == Kind::Text && is_words(token.text) {
            return true;
        }
    }
    false
}

/// Whether the conditions and elements of a run begin and end in it.
fn is_balanced(run: &[Token<'_>]) -> bool {
    let (mut conditions, mut tags) = (0_i32, 0_i32);
    for token in run {
        match token.kind {
            Kind::Open => tags += 1,
            Kind::Close => tags -= 1,
            Kind::Statement => {
                let word = token.text[2..].trim_start_matches('-').trim_start();
                let begins = word.starts_with("if") || word.starts_with("for");
                conditions += i32::from(begins) - i32::from(word.starts_with("end"));
            }
            _ => {}
        }
        if conditions < 0 || tags < 0 {
            return !run.iter().any(|token| token.kind == Kind::Statement);
        }
    }
    conditions == 0
}

/// Whether there is text, or a value or condition, outside of all elements.
fn is_text(run: &[Token<'_>]) -> bool {
    let mut depth = 0_i32;
    for token in run {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            Kind::Text if depth == 0 && is_words(token.text) => return true,
            Kind::Value | Kind::Statement if depth == 0 => return true,
            _ => {}
        }
        if depth < 0 {
            return true;
        }
    }
    depth != 0
}

fn attributes(token: &Token<'_>, found: &mut Vec<Range<usize>>) {
    let tag = token.text;
    if !is_tag(tag) {
        return;
    }
    let is_described =
        tag.contains(" name=\"description\"") || tag.contains("property=\"og:image:alt\"");
    let is_button = token.name() == "input" && tag.contains("type=\"submit\"");
    let own = [(is_described, "content"), (is_button, "value")];
    let own = own.iter().filter(|(has, _)| *has).map(|(_, name)| *name);
    for name in ATTRIBUTES.into_iter().chain(own) {
        let begin = format!(" {name}=\"");
        let Some(start) = tag.find(&begin).map(|at| at + begin.len()) else { continue };
        let value = &tag[start..start + len_of_value(&tag[start..])];
        if is_words(&outside_of_tera(value)) {
            found.push(token.at + start..token.at + start + value.len());
        }
    }
}

fn len_of_value(rest: &str) -> usize {
    let mut at = 0;
    while at < rest.len() {
        if let Some(len) = len_of_tera(&rest[at..]) {
            at += len;
        } else if rest.as_bytes()[at] == b'"' {
            return at;
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(source: &str) -> Vec<String> {
        segments(source).into_iter().map(|range| id_of(&source[range])).collect()
    }

    #[test]
    fn a_text_has_its_inline_tags_and_ends_at_a_block() {
        let source = "<h1>Help</h1>\n<p>Write to <a href=\"x\">{{ email }}</a>,\n  now.</p><p>{{ only }}</p>\
            <ul><li><a href=\"/a\" title=\"Go\">One</a> <span>Two &amp; more</span></li></ul>\
            <pre data-copy=\"the call\">curl</pre><p><code>x</code></p><p>Assent</p>";
        let expected = [
            "Help",
            "Write to <a href=\"x\">{{ email }}</a>, now.",
            "Go",
            "One",
            "Two &amp; more",
            "the call",
        ];
        assert_eq!(ids(source), expected);
    }

    #[test]
    fn conditions_belong_to_a_text_if_they_end_in_it() {
        let source = "{% if a -%}\n<p>{% if b %}One{% else %}Two{% endif %}</p>\n{%- endif %}\
            <p>{{ n }} key{{ n | pluralize }}</p>{% block x %}Three{% endblock x %}";
        let expected =
            ["{% if b %}One{% else %}Two{% endif %}", "{{ n }} key{{ n | pluralize }}", "Three"];
        assert_eq!(ids(source), expected);
    }

    #[test]
    fn attributes_and_what_is_not_to_be_translated_are_known() {
        let source = "<meta name=\"description\" content=\"{{ a | default(value=\"x\") }}: a notice\">\
            <meta name=\"viewport\" content=\"width\"><dl translate=\"no\"><dt>origin</dt></dl>\
            <body class=\"{% block body_class %}wide{% endblock %}\">{% block at_log %} aria-current=\"page\"{% endblock %}\
            <ul><li><a href=\"/x\" translate=\"no\">x.json</a> <span><code>y</code></span></li></ul>\
            <svg><title>No</title></svg><input type=\"submit\" value=\"Send\"><input value=\"kept\">";
        assert_eq!(ids(source), ["{{ a | default(value=\"x\") }}: a notice", "Send"]);
    }

    #[test]
    fn what_is_found_replaces_its_text_only() {
        let find = |id: &str| (id == "One two").then(|| "Eins".to_owned());
        let source = "<p class=\"One\"> One\n two </p><p>Three</p>";
        assert_eq!(
            translated(source, segments(source), find),
            "<p class=\"One\"> Eins </p><p>Three</p>"
        );
    }
}
