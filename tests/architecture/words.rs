//! Names use the words of `docs/glossary.md`. Words that once named something else in this code cannot return.

use super::rust::sources;

/// Words that no identifier and no file name may contain, with the words to use instead.
const REPLACED: &[(&str, &str)] = &[
    ("disowning", "signup_rejection"),
    ("doctor", "diagnostics"),
    ("judging", "evaluation"),
    ("lane", "queue"),
    ("lanes", "queues"),
    ("letter", "rendered mail"),
    ("misfit", "invalid_input"),
    ("misfits", "invalid_inputs"),
    ("patience", "timeout"),
    ("resealing", "re_encryption"),
    ("sealer", "encryptor"),
    ("seat", "member"),
    ("seats", "members"),
    ("sighting", "observation"),
    ("sightings", "observations"),
    ("unsettled", "pending"),
    ("untold", "unnotified"),
];

/// The code without comments and without the contents of string literals on one line.
fn without_strings(program: &str) -> String {
    let mut kept = String::new();
    for line in program.lines() {
        for (index, part) in line.split('"').enumerate() {
            if index % 2 == 0 {
                kept.push_str(part);
            }
            kept.push(' ');
        }
        kept.push('\n');
    }
    kept
}

/// The lowercase words of an identifier: `ShardQueues` and `shard_queues` are `shard` and `queues`.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut follows_lowercase = false;
    for letter in identifier.chars() {
        let starts_word = letter.is_ascii_uppercase() && follows_lowercase;
        if !letter.is_ascii_alphanumeric() || starts_word {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric() {
            let last = words.last_mut().expect("at least one word");
            last.push(letter.to_ascii_lowercase());
        }
        follows_lowercase = letter.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn identifiers_are_split_into_words() {
    assert_eq!(words("ShardQueues"), ["shard", "queues"]);
    assert_eq!(words("list_seats_of"), ["list", "seats", "of"]);
    assert_eq!(words("SEAT"), ["seat"]);
    assert_eq!(words("mcp/misfit.rs"), ["mcp", "misfit", "rs"]);
    assert!(!without_strings("let name = \"a letter\";").contains("letter"));
}

#[test]
fn replaced_words_do_not_return() {
    let mut found = Vec::new();
    for source in sources() {
        let code = without_strings(&source.program());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = code.split(|c| !is_name(c)).chain([&*source.path]);
        for word in names.flat_map(words) {
            if let Some((_, instead)) = REPLACED.iter().find(|(replaced, _)| *replaced == word) {
                found.push(format!("{}: `{word}`, use `{instead}`", source.path));
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "words that were replaced: {found:#?}");
}
