//! Names use the words of `docs/glossary.md`. Words that once named something else in this code cannot return.
//! Comments are few, and begin with a statement.

use super::rust::sources;

/// Words that no identifier and no file name may contain, with the words to use instead.
const REPLACED: &[(&str, &str)] = &[
    ("beginnings", "prefixes"),
    ("disowning", "signup_rejection"),
    ("doctor", "diagnostics"),
    ("judging", "evaluation"),
    ("lane", "queue"),
    ("lanes", "queues"),
    ("letter", "rendered mail"),
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
    ("seats", "members"),
    ("sighting", "observation"),
    ("sightings", "observations"),
    ("tell", "notify or report"),
    ("told", "notified"),
    ("unsettled", "pending"),
    ("untold", "unnotified"),
    ("wakes", "notifiers"),
    ("woken", "notified"),
];

/// The code without comments, string literals and the tests at its end.
fn without_texts(source: &str) -> String {
    let mut rest = source.split("\n#[cfg(test)]\n").next().unwrap_or(source);
    let mut kept = String::new();
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            'r' if rest.starts_with("r\"") => end_of(&rest[2..], "\"") + 2,
            'r' if rest.starts_with("r#\"") => end_of(&rest[3..], "\"#") + 3,
            '"' => end_of_string(&rest[1..]) + 1,
            '\'' if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") => {
                end_of(&rest[2..], "'") + 2
            }
            _ => 0,
        };
        if skipped == 0 {
            kept.push(first);
        } else {
            kept.push(' ');
        }
        rest = &rest[skipped.max(first.len_utf8())..];
    }
    kept
}

/// The length of the text up to the end of `mark`, or of the whole text.
fn end_of(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

/// The length of a string literal after its opening quotation mark, up to the end of its closing one.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// The lowercase words of an identifier: `ShardQueues` and `shard_queues` are `shard` and `queues`.
pub fn words(identifier: &str) -> Vec<String> {
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
    let code = "let s = \"a \\\" letter\n\"; // letter\nlet c = '\"'; let seat = r#\"letter\"#;";
    assert!(!without_texts(code).contains("letter"));
    assert!(without_texts(code).contains("let seat ="));
}

#[test]
fn replaced_words_do_not_return() {
    let mut found = Vec::new();
    for source in sources() {
        let code = without_texts(&source.text);
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
