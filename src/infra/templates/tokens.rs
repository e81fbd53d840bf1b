//! Tokens of templates of HTML and Tera, as far as translation needs them. No library parses both at once: `html5ever`
//! does not support statements, and the syntax tree of `tera` does not contain tags.

/// Elements that belong to running text. All other elements separate texts.
const INLINE: [&str; 24] = [
    "a", "abbr", "b", "bdi", "br", "cite", "code", "del", "em", "i", "ins", "kbd", "mark", "q",
    "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
];
const EMPTY: [&str; 2] = ["br", "wbr"];
/// Elements without translatable text.
const OPAQUE: [&str; 5] = ["pre", "script", "style", "svg", "textarea"];
/// Elements whose text is the same in all languages.
const LITERAL: [&str; 3] = ["code", "kbd", "samp"];
/// The name of the service, which is the same in all languages.
const NAME: &str = "Assent";
/// Statements that can be a part of a text.
const CONDITIONS: [&str; 6] = ["if", "elif", "else", "endif", "for", "endfor"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// `{{ … }}`
    Value,
    /// A condition or a loop.
    Statement,
    Open,
    Close,
    /// An element without an end tag, such as `<br>`.
    Empty,
    /// A tag, a statement or a comment that separates texts.
    Boundary,
}

#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    pub at: usize,
    pub text: &'a str,
}

impl<'a> Token<'a> {
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// The element's name in a tag.
    pub fn name(&self) -> &'a str {
        name_of(self.text)
    }

    /// Whether the content of the element is not translated.
    pub fn is_literal(&self) -> bool {
        LITERAL.contains(&self.name()) || is_kept(self.text)
    }
}

/// Splits a template into tokens, which cover it completely.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < source.len() {
        let rest = &source[at..];
        let (kind, mut len) = token(rest);
        let tag = &rest[..len];
        tokens.push(Token { kind, at, text: tag });
        if kind == Kind::Boundary && begins_attribute(tag) {
            let content = rest[len..].find("{%").unwrap_or(0);
            tokens.push(Token { kind, at: at + len, text: &rest[len..len + content] });
            len += content;
        }
        let name = name_of(tag);
        let begins_opaque = kind == Kind::Boundary
            && is_tag(tag)
            && !tag.starts_with("</")
            && (OPAQUE.contains(&name) || is_kept(tag));
        if begins_opaque {
            let content = len_of_content(&rest[len..], name);
            if content > 0 {
                let text = &rest[len..len + content];
                tokens.push(Token { kind: Kind::Boundary, at: at + len, text });
            }
            len += content;
        }
        at += len;
    }
    tokens
}

fn token(rest: &str) -> (Kind, usize) {
    if rest.starts_with("{{") {
        return (Kind::Value, len_to(rest, "}}"));
    }
    if rest.starts_with("{#") {
        return (Kind::Boundary, len_to(rest, "#}"));
    }
    if let Some(statement) = rest.strip_prefix("{%") {
        let len = len_to(rest, "%}");
        let word = statement.trim_start_matches('-').split_whitespace().next().unwrap_or_default();
        let is_condition = CONDITIONS.contains(&word);
        return (if is_condition { Kind::Statement } else { Kind::Boundary }, len);
    }
    if is_tag(rest) {
        let len = len_of_tag(rest);
        let name = name_of(&rest[..len]);
        let kind = match (INLINE.contains(&name), EMPTY.contains(&name)) {
            (false, _) => Kind::Boundary,
            (_, true) => Kind::Empty,
            _ if rest.starts_with("</") => Kind::Close,
            _ => Kind::Open,
        };
        return (kind, len);
    }
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let begins = |at: &usize| is_markup(&rest[*at..]);
    let len = (first..rest.len()).filter(|at| rest.is_char_boundary(*at)).find(begins);
    (Kind::Text, len.unwrap_or(rest.len()))
}

fn is_markup(rest: &str) -> bool {
    ["{{", "{#", "{%"].iter().any(|start| rest.starts_with(start)) || is_tag(rest)
}

pub fn is_tag(rest: &str) -> bool {
    let name = rest.strip_prefix('<').map(|rest| rest.strip_prefix('/').unwrap_or(rest));
    name.is_some_and(|name| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '!')
    })
}

/// The length up to and including `end`.
fn len_to(rest: &str, end: &str) -> usize {
    rest.find(end).map_or(rest.len(), |at| at + end.len())
}

fn len_of_tag(tag: &str) -> usize {
    let (mut at, mut quote) = (1, None);
    while at < tag.len() {
        if let Some(len) = len_of_tera(&tag[at..]) {
            at += len;
            continue;
        }
        match (tag.as_bytes()[at], quote) {
            (b'>', None) => return at + 1,
            (mark @ (b'"' | b'\''), None) => quote = Some(mark),
            (mark, Some(open)) if mark == open => quote = None,
            _ => {}
        }
        at += 1;
        while !tag.is_char_boundary(at) {
            at += 1;
        }
    }
    tag.len()
}

/// The length of the value or statement at the start, if there is one.
pub fn len_of_tera(rest: &str) -> Option<usize> {
    if rest.starts_with("{{") {
        return Some(len_to(rest, "}}"));
    }
    rest.starts_with("{%").then(|| len_to(rest, "%}"))
}

fn name_of(tag: &str) -> &str {
    let name = tag.trim_start_matches(['<', '/']);
    name.split(|end: char| !end.is_ascii_alphanumeric()).next().unwrap_or_default()
}

/// Whether a block statement is inside a tag of the layout, so that its content is not text.
fn begins_attribute(statement: &str) -> bool {
    let name = statement.split_once(" block ").map_or("", |(_, name)| name);
    statement.starts_with("{%") && (name.starts_with("at_") || name.starts_with("body_class"))
}

/// Whether a tag declares that its content is not translated.
fn is_kept(tag: &str) -> bool {
    tag.contains(" translate=\"no\"")
}

/// The length of an element's content, which may contain elements of the same name.
fn len_of_content(rest: &str, name: &str) -> usize {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let (mut depth, mut at) = (0, 0);
    while let Some(end) = rest[at..].find(&close).map(|end| at + end) {
        depth += rest[at..end].matches(&open).count();
        if depth == 0 {
            return end;
        }
        depth -= 1;
        at = end + close.len();
    }
    rest.len()
}

pub fn is_words(text: &str) -> bool {
    let mut rest = text.replace(NAME, "");
    while let Some(at) = rest.find('&') {
        let end = rest[at..].find(';').map_or(at + 1, |end| at + end + 1);
        rest.replace_range(at..end, "");
    }
    rest.contains(char::is_alphabetic)
}

pub fn outside_of_tera(value: &str) -> String {
    let (mut outside, mut at) = (String::new(), 0);
    while let Some(character) = value[at..].chars().next() {
        if let Some(len) = len_of_tera(&value[at..]) {
            at += len;
        } else {
            outside.push(character);
            at += character.len_utf8();
        }
    }
    outside
}
