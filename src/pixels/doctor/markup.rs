//! The elements of a page that say what runs on it, as a browser reads them (HTML, section 13.2.5),
//! in one pass whatever the page is.

use super::entities::decoded;
use crate::pixels::html::end_of_comment;

/// What elements are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Script,
    Meta,
    /// Where the body begins.
    Body,
}

impl Name {
    fn of(name: &[u8]) -> Option<Self> {
        let known: [(&[u8], Self); 3] =
            [(b"script", Self::Script), (b"meta", Self::Meta), (b"body", Self::Body)];
        known.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, name)| name)
    }
}

/// The beginning of an element.
#[derive(Debug)]
pub struct Element<'a> {
    pub name: Name,
    /// Names in lowercase, values decoded; the first of each name counts.
    attributes: Vec<(String, String)>,
    /// What is inside of a script.
    pub text: &'a [u8],
    /// Inside of `<noscript>` or `<template>`: no browser that runs scripts runs it.
    pub is_inert: bool,
}

impl Element<'_> {
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether a browser runs it as a script when it comes to it.
    pub fn is_run(&self) -> bool {
        let kind = self.get("type").map(|kind| kind.trim().to_ascii_lowercase());
        let is_code = match kind.as_deref() {
            None | Some("" | "module") => true,
            Some(kind) => is_javascript(kind),
        };
        self.name == Name::Script && !self.is_inert && is_code
    }
}

fn is_javascript(kind: &str) -> bool {
    let kind = kind.split_once('/').filter(|(group, _)| matches!(*group, "text" | "application"));
    kind.is_some_and(|(_, kind)| {
        let known = ["javascript", "ecmascript", "x-javascript", "x-ecmascript", "jscript"];
        known.contains(&kind) || kind.starts_with("javascript1.")
    })
}

/// Elements whose content is text up to their end, whatever it looks like.
const RAW: [&[u8]; 7] =
    [b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noframes"];

/// The page's scripts, its `<meta>`, and where its body begins.
pub fn elements(page: &[u8]) -> Vec<Element<'_>> {
    let (mut found, mut inert, mut at) = (Vec::new(), Inert::default(), 0);
    while let Some(start) = page[at..].iter().position(|&byte| byte == b'<').map(|next| at + next) {
        if let Some(comment) = page[start..].strip_prefix(b"<!--") {
            at = start + 4 + end_of_comment(comment);
            continue;
        }
        let is_end = page.get(start + 1) == Some(&b'/');
        let name_at = (start + 1 + usize::from(is_end)).min(page.len());
        let name = name_of(&page[name_at..]);
        if name.is_empty() {
            at = start + 1;
            continue;
        }
        let wanted = if is_end { None } else { Name::of(name) };
        let after_name = name_at + name.len();
        let (attributes, length) = attributes(&page[after_name..], wanted.is_some());
        // A tag that never ends is none.
        let Some(length) = length else { break };
        at = after_name + length;
        inert.pass(name, is_end);
        let mut text = &page[at..at];
        if !is_end && RAW.iter().any(|raw| name.eq_ignore_ascii_case(raw)) {
            text = &page[at..at + end_of_text(&page[at..], name)];
            at += text.len();
        }
        if let Some(name) = wanted {
            found.push(Element { name, attributes, text, is_inert: inert.is_inside() });
        }
    }
    found
}

/// Whether the reading is inside of what no browser runs.
#[derive(Default)]
struct Inert {
    noscript: bool,
    templates: usize,
}

impl Inert {
    fn pass(&mut self, name: &[u8], is_end: bool) {
        if name.eq_ignore_ascii_case(b"noscript") {
            self.noscript = !is_end;
        } else if name.eq_ignore_ascii_case(b"template") {
            let inside = self.templates;
            self.templates = if is_end { inside.saturating_sub(1) } else { inside + 1 };
        }
    }

    fn is_inside(&self) -> bool {
        self.noscript || self.templates > 0
    }
}

fn name_of(rest: &[u8]) -> &[u8] {
    if !rest.first().is_some_and(u8::is_ascii_alphabetic) {
        return &[];
    }
    let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || b"/>".contains(byte));
    &rest[..end.unwrap_or(rest.len())]
}

/// Where the text of an element ends: before its end tag.
fn end_of_text(text: &[u8], name: &[u8]) -> usize {
    let is_end = |at: &usize| {
        text[*at..].strip_prefix(b"</").is_some_and(|end| {
            end.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
        })
    };
    let places = text.iter().enumerate().filter(|(_, byte)| **byte == b'<').map(|(at, _)| at);
    places.into_iter().find(is_end).unwrap_or(text.len())
}

/// The attributes of a tag, if they are wanted, and where it ends.
fn attributes(tag: &[u8], wanted: bool) -> (Vec<(String, String)>, Option<usize>) {
    let (mut found, mut at) = (Vec::new(), 0);
    loop {
        at += count(&tag[at..], |byte| byte.is_ascii_whitespace() || byte == b'/');
        match tag.get(at) {
            None => return (found, None),
            Some(b'>') => return (found, Some(at + 1)),
            Some(_) => {}
        }
        let name_at = at;
        // An equals sign at the beginning is a part of the name.
        at += 1 + count(&tag[at + 1..], |byte| {
            !byte.is_ascii_whitespace() && !b"/>=".contains(&byte)
        });
        let name = &tag[name_at..at];
        let blank = count(&tag[at..], |byte| byte.is_ascii_whitespace());
        let mut value = &tag[at..at];
        if tag.get(at + blank) == Some(&b'=') {
            at += blank + 1;
            at += count(&tag[at..], |byte| byte.is_ascii_whitespace());
            let length;
            (value, length) = value_of(&tag[at..]);
            at += length;
        }
        if wanted {
            found.push((text(name).to_ascii_lowercase(), decoded(&text(value))));
        }
    }
}

/// A value, and how much of the tag it takes with its quotes.
fn value_of(rest: &[u8]) -> (&[u8], usize) {
    match rest.first() {
        Some(&quote @ (b'"' | b'\'')) => {
            let length = count(&rest[1..], |byte| byte != quote);
            (&rest[1..=length], (length + 2).min(rest.len()))
        }
        _ => {
            let length = count(rest, |byte| !byte.is_ascii_whitespace() && byte != b'>');
            (&rest[..length], length)
        }
    }
}

fn count(rest: &[u8], goes_on: impl Fn(u8) -> bool) -> usize {
    rest.iter().position(|&byte| !goes_on(byte)).unwrap_or(rest.len())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(page: &str) -> Vec<String> {
        let found = elements(page.as_bytes());
        let runs = found.iter().filter(|one| one.is_run());
        runs.map(|one| one.get("src").unwrap_or("inline").to_owned()).collect()
    }

    #[test]
    fn scripts_are_found_as_a_browser_finds_them() {
        for (page, found) in [
            ("<script src=a.js></script><SCRIPT\nasync SRC = 'b.js' >", vec!["a.js", "b.js"]),
            ("<script/src=\"a.js?x=1&amp;y=2\"/>", vec!["a.js?x=1&y=2"]),
            ("<script src=a.js src=b.js>", vec!["a.js"]),
            ("<script>\"<script src=a.js>\"</script >", vec!["inline"]),
            ("<p title='<script src=a.js>'>", vec![]),
            ("<p don't><script src=a.js>", vec!["a.js"]),
            ("<!-- <script src=a.js></script> --><scripture src=a.js>", vec![]),
            ("<title><script src=a.js></title><textarea><script src=a.js></textarea>", vec![]),
            ("<noscript><script src=a.js></script></noscript><script src=b.js>", vec!["b.js"]),
            ("<template><script src=a.js></script></template>", vec![]),
            ("</noscript><script src=a.js>", vec!["a.js"]),
            ("<script type=Text/JavaScript src=a.js>", vec!["a.js"]),
            ("<script type=module src=a.js>", vec!["a.js"]),
            ("<script type=text/plain src=a.js></script><script type=application/ld+json>", vec![]),
            ("<script type='rocketlazyloadscript' src=a.js>", vec![]),
        ] {
            assert_eq!(sources(page), found, "{page}");
        }
    }

    #[test]
    fn what_is_broken_ends_where_the_page_ends() {
        for page in [
            "<",
            "</",
            "<script",
            "<script ",
            "<script a",
            "<script a=",
            "<script a='",
            "<script a=b",
            "<!--",
            "<!-",
            "<a <script src=a>",
            "</>",
            "<noscript>",
            "<body",
            "<meta content=",
            "<script src='a>",
            "\u{feff}<ſcript>",
        ] {
            assert_eq!(sources(page), [""; 0], "{page}");
        }
        assert_eq!(sources("<script src=a.js>never closed <script src=b.js>"), ["a.js"]);
    }
}
