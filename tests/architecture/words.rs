//! The words of names, which are those of `docs/glossary.md`. Comments are few, and begin with a statement.

use super::rust::sources;

/// The lowercase words of an identifier: `ShardQueues` and `shard_queues` are `shard` and `queues`.
pub fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut follows_lowercase = false;
    for character in identifier.chars() {
        let starts_word = character.is_ascii_uppercase() && follows_lowercase;
        if !character.is_ascii_alphanumeric() || starts_word {
            words.push(String::new());
        }
        if character.is_ascii_alphanumeric() {
            let last = words.last_mut().expect("at least one word");
            last.push(character.to_ascii_lowercase());
        }
        follows_lowercase = character.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The share of comment lines among the lines of `src/`.
const MAX_COMMENT_PERCENT: usize = 7;

/// First words of relative clauses, with which no comment may begin.
const RELATIVE: [&str; 6] = ["What ", "Where ", "Who ", "Whoever ", "Whom ", "Whose "];

/// Texts in items whose doc comments are published: in `openapi.json`, as tools or as help.
const PUBLISHED: [&str; 9] = [
    "#[arg(",
    "#[tool",
    "IntoParams",
    "JsonSchema",
    "Subcommand",
    "ToSchema",
    "text_enum!",
    "token_id!",
    "utoipa::path",
];

/// The items of a file, each with what follows it up to the next unindented text after a blank line.
fn items(text: &str) -> Vec<String> {
    let mut items = Vec::<String>::new();
    for part in text.split("\n\n") {
        match items.last_mut() {
            Some(item) if part.starts_with(' ') => item.extend(["\n\n", part]),
            _ => items.push(part.to_owned()),
        }
    }
    items
}

/// The comments that begin with a relative clause, except published ones.
fn relative_clauses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for item in items(text) {
        let is_published = PUBLISHED.iter().any(|mark| item.contains(mark));
        let mut follows_comment = false;
        for line in item.lines().map(str::trim_start) {
            let is_comment = line.starts_with("//");
            let is_exempt = follows_comment || is_published && line.starts_with("///");
            let words = line.trim_start_matches(['/', '!']).trim_start();
            if is_comment && !is_exempt && RELATIVE.iter().any(|first| words.starts_with(first)) {
                found.push(words.to_owned());
            }
            follows_comment = is_comment;
        }
    }
    found
}

#[test]
fn relative_clauses_are_found_except_in_published_comments() {
    let code = "//! Who asks.\n\n/// Who\n/// What it is.\nstruct A;\n\n    // Where it is.\n";
    assert_eq!(relative_clauses(code), ["Who asks.", "Where it is."]);
    let published = "/// What it is.\n#[derive(ToSchema)]\nstruct A {\n    // What it is.\n}\n";
    assert_eq!(relative_clauses(published), ["What it is."]);
    assert_eq!(relative_clauses("/// Whether it is.\nstruct A;\n"), [""; 0]);
}

#[test]
fn comments_begin_with_a_statement() {
    let mut found = Vec::new();
    for source in sources() {
        let clauses = relative_clauses(&source.text).into_iter();
        found.extend(clauses.map(|words| format!("{}: {words}", source.path)));
    }
    assert!(found.is_empty(), "comments that do not begin with a statement: {found:#?}");
}

#[test]
fn comments_are_few() {
    let sources = sources();
    let lines = || sources.iter().flat_map(|source| source.text.lines());
    let comments = lines().filter(|line| line.trim_start().starts_with("//")).count();
    let (all, percent) = (lines().count(), MAX_COMMENT_PERCENT);
    assert!(comments * 100 <= all * percent, "{comments} of {all} lines are comments");
}

#[test]
fn identifiers_are_split_into_words() {
    assert_eq!(words("ShardQueues"), ["shard", "queues"]);
    assert_eq!(words("list_seats_of"), ["list", "seats", "of"]);
    assert_eq!(words("SEAT"), ["seat"]);
    assert_eq!(words("mcp/misfit.rs"), ["mcp", "misfit", "rs"]);
}
