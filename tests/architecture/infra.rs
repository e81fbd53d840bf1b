//! Functions that use one or two parts of `Infra` take these, not the whole.

use std::collections::BTreeSet;

use super::functions::{functions, is_word};
use super::rust::sources;

/// Most parts for which a function takes each as a parameter.
const MAX_PARTS: usize = 2;

/// Parts that are read by a method.
const METHODS: &[&str] = &["base_url", "base_host"];

/// The name of the parameter that is the whole `Infra`.
fn parameter(signature: &str) -> Option<&str> {
    signature.split(['(', ',']).find_map(|declared| {
        let (name, declared_type) = declared.split_once(':')?;
        let last = declared_type.split([')', '>']).next()?.split_whitespace().last()?;
        matches!(last, "Infra" | "&Infra").then(|| name.trim())
    })
}

/// The parts that a body reads; `None` if it passes the whole on.
fn parts_used<'a>(body: &'a str, name: &str) -> Option<BTreeSet<&'a str>> {
    let mut parts = BTreeSet::new();
    for (at, _) in body.match_indices(name) {
        let (before, after) = (&body[..at], &body[at + name.len()..]);
        let is_other_name = before.ends_with(|character| is_word(character) || character == '.')
            || after.starts_with(is_word)
            || after.trim_start().starts_with(':');
        if is_other_name {
            continue;
        }
        let read = after.trim_start().strip_prefix('.')?.trim_start();
        let part = &read[..read.find(|character| !is_word(character))?];
        let is_call = read[part.len()..].trim_start().starts_with('(');
        if is_call && !METHODS.contains(&part) {
            return None;
        }
        parts.insert(part);
    }
    Some(parts)
}

/// Whether a function takes the whole, does not pass it on, and uses few parts.
fn takes_too_much(signature: &str, body: &str) -> bool {
    let parts = parameter(signature).and_then(|name| parts_used(body, name));
    parts.is_some_and(|parts| (1..=MAX_PARTS).contains(&parts.len()))
}

#[test]
fn functions_take_the_parts_that_they_use() {
    let mut found = Vec::new();
    let mut count = 0;
    for source in sources() {
        for function in functions(&source.text).iter().filter(|function| !function.is_of_trait) {
            count += usize::from(parameter(&function.signature).is_some());
            if takes_too_much(&function.signature, &function.body) {
                found.push(format!("{}: {}", source.path, function.name));
            }
        }
    }
    assert!(count > 100, "{count} functions with the parameter were found");
    assert!(found.is_empty(), "take the parts that are used: {found:#?}");
}

#[test]
fn a_function_that_uses_few_parts_is_recognized() {
    for (signature, body, expected) in [
        ("a(infra: &Infra)", "{ infra.pool.begin() }", true),
        (
            "a<'a>(b: B, infra: &'a Infra) -> C<'a> ",
            "{ infra\n.clock.now(); infra.base_url() }",
            true,
        ),
        ("a(infra: &Infra)", "{ infra.pool; infra.clock; infra.outbox }", false),
        ("a(infra: &Infra)", "{ infra.pool.begin(); b(infra) }", false),
        ("a(infra: &Infra)", "{ infra.spawn(|infra| b(infra)) }", false),
        ("a(infra: &Infra)", "{ B { infra: infra.clone() } }", false),
        ("a(&self, other: &Other)", "{ self.infra.pool }", false),
        ("a(find: impl Fn(Infra) -> B)", "{ find(self.infra.clone()) }", false),
    ] {
        assert_eq!(takes_too_much(signature, body), expected, "{signature} {body}");
    }
}
