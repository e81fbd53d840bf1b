//! The functions of the Rust sources.

use std::ops::Range;

use super::code::rust_without_texts;

/// A function with a body, without comments and the contents of literals.
pub struct Function {
    pub name: String,
    /// From the name to the body.
    pub signature: String,
    /// From its first brace to its last.
    pub body: String,
    /// Whether a trait determines the parameters.
    pub is_of_trait: bool,
}

impl Function {
    /// The number of lines from `fn` to the closing brace.
    pub fn lines(&self) -> usize {
        1 + self.signature.matches('\n').count() + self.body.matches('\n').count()
    }
}

/// The functions of a file without its unit tests.
pub fn functions(source: &str) -> Vec<Function> {
    let code = rust_without_texts(source.split("\n#[cfg(test)]\n").next().unwrap_or(source));
    let traits = blocks_of_traits(&code);
    let mut found = Vec::new();
    for (at, keyword) in code.match_indices("fn ") {
        let declared = &code[at + keyword.len()..];
        let name = declared.split(|character| !is_word(character)).next().unwrap_or_default();
        if name.is_empty() || code[..at].ends_with(is_word) {
            continue;
        }
        if let Some(body) = body_of(declared) {
            found.push(Function {
                name: name.to_owned(),
                signature: declared[..body.start].to_owned(),
                body: declared[body].to_owned(),
                is_of_trait: traits.iter().any(|block| block.contains(&at)),
            });
        }
    }
    found
}

pub fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The bodies of traits and of their implementations.
fn blocks_of_traits(code: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let declared =
            line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        let is_trait = declared.starts_with("trait ");
        if !is_trait && !declared.starts_with("impl ") && !declared.starts_with("impl<") {
            continue;
        }
        let Some(body) = body_of(&code[start..]) else { continue };
        let header = &code[start..start + body.start];
        if is_trait || header.contains(" for ") {
            blocks.push(start + body.start..start + body.end);
        }
    }
    blocks
}

/// The positions of the body of an item; `None` if it has no body.
fn body_of(declared: &str) -> Option<Range<usize>> {
    let (mut in_signature, mut in_body, mut start) = (0, 0, 0);
    for (at, character) in declared.char_indices() {
        match character {
            '{' if in_body > 0 || in_signature == 0 => {
                if in_body == 0 {
                    start = at;
                }
                in_body += 1;
            }
            '}' if in_body == 1 => return Some(start..at + 1),
            '}' if in_body > 1 => in_body -= 1,
            _ if in_body > 0 => {}
            '(' | '[' | '{' => in_signature += 1,
            ')' | ']' | '}' => in_signature -= 1,
            ';' if in_signature == 0 => return None,
            _ => {}
        }
    }
    None
}

#[test]
fn the_lines_of_functions_are_counted() {
    let code = "trait A {\n    fn a(&self) -> [u8; 2];\n}\nfn b(B { c, .. }: B) {\n    // }\n    let d = '}';\n    \
                || { 1 };\n}\n\nfn d() {}\n\n#[cfg(test)]\nmod tests {\n    fn e() {}\n}\n";
    let found = functions(code);
    let found = found.iter().map(|it| (it.name.as_str(), it.lines())).collect::<Vec<_>>();
    assert_eq!(found, [("b", 5), ("d", 1)]);
}

#[test]
fn methods_of_traits_are_recognized() {
    let code = "impl<T> A for B<T> {\n    fn a() {}\n}\nimpl B {\n    fn b() {}\n}\npub trait C {\n    fn c() {}\n}\n\
                fn d() {}\n";
    let found = functions(code).into_iter().map(|it| (it.name, it.is_of_trait));
    let expected = [("a", true), ("b", false), ("c", true), ("d", false)];
    assert!(found.eq(expected.map(|(name, is_of_trait)| (name.to_owned(), is_of_trait))));
}
