//! Words that once named something else in this code cannot return, in identifiers and in names of files.

use std::fs;
use std::path::Path;

use super::code::{python_without_texts, rust_without_texts};
use super::typescript;
use super::words::words;

/// Words that no identifier and no name of a file may contain, with the words to use instead. Texts are exempt, and so
/// are the names of columns in statements, which migrations have fixed.
const REPLACED: &[(&str, &str)] = &[
    ("beginnings", "prefixes"),
    ("disowning", "signup_rejection"),
    ("doctor", "diagnostics"),
    ("doors", "transports"),
    ("judging", "evaluation"),
    ("lane", "queue"),
    ("lanes", "queues"),
    ("letter", "mail or character"),
    ("misfit", "invalid_input"),
    ("misfits", "invalid_inputs"),
    ("owed", "deferred"),
    ("pace", "account_rate"),
    ("paces", "account_rates"),
    ("patience", "timeout"),
    ("resealing", "re_encryption"),
    ("sealer", "encryptor"),
    ("sealing", "appending or encryption"),
    ("seat", "member"),
    ("sighting", "observation"),
    ("sightings", "observations"),
    ("tell", "notify or report"),
    ("told", "notified or sent"),
    ("unsettled", "pending"),
    ("untold", "unnotified"),
    ("wakes", "notifiers"),
    ("woken", "notified"),
];

/// More words, for Rust only. In TypeScript, a contact has a field `seats`, and `place` has other replacements.
const REPLACED_IN_RUST: &[(&str, &str)] = &[
    ("place", "index, position, location or permit"),
    ("placed", "stored, listed or positioned"),
    ("places", "indexes, positions, locations or permits"),
    ("seats", "members"),
];

/// Names that contain such a word but are not ours: functions of libraries, and a field of the API.
const EXTERNAL: [&str; 4] =
    ["block_in_place", "open_in_place", "seal_in_place_append_tag", "storage_places"];

/// More words, for TypeScript only.
const REPLACED_IN_TYPESCRIPT: &[(&str, &str)] = &[
    ("asked", "requested"),
    ("bent", "replaced"),
    ("held", "delayed"),
    ("kit", "context"),
    ("look", "check, view or appearance"),
    ("news", "change"),
    ("place", "element, position or index"),
    ("places", "elements"),
    ("question", "banner or popup"),
    ("said", "shown or status"),
    ("says", "shows"),
    ("trouble", "problems"),
    ("veil", "hide"),
];

/// Folders with libraries and with generated code.
const NOT_OURS: [&str; 3] = ["generated", "node_modules", "target"];

/// The replaced words in the path and the code of a file, each with the word to use instead.
fn replaced(path: &str, code: &str, more: &[(&str, &str)]) -> Vec<String> {
    let names = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = names.filter(|name| !EXTERNAL.contains(name)).chain([path]);
    let all = || REPLACED.iter().chain(more);
    let instead_of = |word: &str| all().find(|(replaced, _)| *replaced == word);
    let found =
        names.flat_map(words).filter_map(|word| instead_of(&word).map(|(_, new)| (word, new)));
    let mut found =
        found.map(|(word, new)| format!("{path}: `{word}`, use `{new}`")).collect::<Vec<_>>();
    found.dedup();
    found
}

/// Path and text of the files of a folder with this extension, the paths relative to the root of the repository.
fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = walkdir::WalkDir::new(root.join(folder)).into_iter();
    let entries =
        entries.filter_entry(|entry| NOT_OURS.iter().all(|name| entry.file_name() != *name));
    let paths = entries.map(|entry| entry.expect("the folder is readable").into_path());
    let paths = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    let files = paths.map(|path| {
        let name = path.strip_prefix(root).expect("below").display().to_string();
        (name, fs::read_to_string(&path).expect("readable source"))
    });
    files.collect()
}

#[test]
fn replaced_words_do_not_return_in_rust() {
    let mut found = Vec::new();
    let mut count = 0;
    for (path, text) in
        ["src", "tests", "bench", "build.rs"].iter().flat_map(|name| files(name, "rs"))
    {
        found.extend(replaced(&path, &rust_without_texts(&text), REPLACED_IN_RUST));
        count += 1;
    }
    assert!(count > 800, "the sources and the tests were found");
    assert!(found.is_empty(), "words that were replaced: {found:#?}");
}

#[test]
fn replaced_words_do_not_return_in_the_benchmark() {
    let mut found = Vec::new();
    let files = files("bench", "py");
    assert!(files.len() > 10, "the files were found");
    for (path, text) in files {
        found.extend(replaced(&path, &python_without_texts(&text), &[]));
    }
    assert!(found.is_empty(), "words that were replaced: {found:#?}");
}

#[test]
fn replaced_words_do_not_return_in_typescript() {
    let mut found = Vec::new();
    for (path, text) in typescript::sources() {
        found.extend(replaced(&path, &typescript::code(&text), REPLACED_IN_TYPESCRIPT));
    }
    assert!(found.is_empty(), "words that were replaced: {found:#?}");
}

#[test]
fn replaced_words_are_found_in_names_but_not_in_texts() {
    let code = rust_without_texts("fn is_told() { let a = \"told_at\"; } // told\n");
    assert_eq!(
        replaced("a/lane.rs", &code, &[]),
        ["a/lane.rs: `told`, use `notified or sent`", "a/lane.rs: `lane`, use `queue`",]
    );
    assert_eq!(replaced("a.ts", "let newsItem;", REPLACED_IN_TYPESCRIPT).len(), 1);
    assert!(replaced("a.rs", "let news;", REPLACED_IN_RUST).is_empty());
    assert_eq!(replaced("a.rs", "struct PlacedContact;", REPLACED_IN_RUST).len(), 1);
    assert!(replaced("a.rs", "block_in_place(|| ());", REPLACED_IN_RUST).is_empty());
}
