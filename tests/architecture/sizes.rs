//! Files and functions are short.

use super::functions::{Function, functions};
use super::rust::sources;

/// Most lines of a file.
const MAX_FILE: usize = 300;
/// Most lines of the files that are named below.
const MAX_LONG_FILE: usize = 330;
/// Most lines of a function, from `fn` to its closing brace.
const MAX_FUNCTION: usize = 60;

/// Files with more lines, each with the reason why it is not split.
const LONG_FILES: &[(&str, &str)] = &[
    ("account_deletion/export.rs", "one document: a function for each kind of line"),
    ("accounts/access.rs", "all kinds of access, which differ in details"),
    ("accounts/codes/account_code_order.rs", "a code is requested and used by the same rules"),
    ("accounts/sessions/store.rs", "all statements on one table"),
    ("accounts/signup/mod.rs", "a sign-up, and how it is undone"),
    ("contacts/reading/mod.rs", "one stream: its order, pages and format"),
    ("error.rs", "the list of all refusals"),
    ("infra/postgres/server_watch.rs", "one state, whose rules refer to each other"),
    ("web/console/sites/overview.rs", "one screen with its chart, its table and its file"),
    ("web/console/sites/popup/fields.rs", "all fields of one form, written and read"),
    ("web/console/visitors/choice.rs", "one screen with its downloads and its form"),
    ("webhooks/endpoints.rs", "four capabilities on one table, with their common checks"),
];

/// Functions with more lines, each with its file and the reason why it is not split.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    ("cli/mod.rs", "act", "an arm for each command"),
    ("config/mod.rs", "from_source", "an expression for each setting"),
    ("http/html/markdown.rs", "tag", "an arm for each element"),
    ("http/html/notices.rs", "words_for", "an arm for each refusal, with its text"),
    ("infra/metrics/mod.rs", "new", "a line for each metric"),
    ("pixels/claims/claim.rs", "take_effect", "one transaction, with a fixed order of locks"),
    ("policies/configuration.rs", "turn_on", "one transaction, with a step for each setting"),
    (
        "visit/steps.rs",
        "observe",
        "resources that end in a fixed order, and a line for each result",
    ),
];

#[test]
fn files_are_short() {
    let is_named = |path: &str| LONG_FILES.iter().any(|(named, _)| *named == path);
    for source in sources() {
        let lines = source.text.lines().count();
        let most = if is_named(&source.path) { MAX_LONG_FILE } else { MAX_FILE };
        assert!(lines <= most, "{} has {lines} lines; split it", source.path);
    }
}

#[test]
fn functions_are_short() {
    let is_named = |path: &str, name: &str| {
        LONG_FUNCTIONS.iter().any(|(file, function, _)| (*file, *function) == (path, name))
    };
    let mut count = 0;
    let mut long = Vec::new();
    for source in sources() {
        for function in functions(&source.text) {
            let (name, lines) = (&function.name, function.lines());
            if lines > MAX_FUNCTION && !is_named(&source.path, name) {
                long.push(format!("{}: {name} has {lines} lines", source.path));
            }
            count += 1;
        }
    }
    assert!(count > 3_000, "{count} functions were found");
    assert!(long.is_empty(), "functions to be split: {long:#?}");
}

#[test]
fn named_files_and_functions_are_long() {
    let sources = sources();
    let find = |path: &str| sources.iter().find(|source| source.path == path);
    for (path, reason) in LONG_FILES {
        let lines = find(path).map_or(0, |source| source.text.lines().count());
        assert!(lines > MAX_FILE && !reason.is_empty(), "{path} has {lines} lines: do not name it");
    }
    for (path, name, reason) in LONG_FUNCTIONS {
        let all = find(path).map(|source| functions(&source.text)).unwrap_or_default();
        let named = all.iter().filter(|function| function.name == *name);
        let lines = named.map(Function::lines).max();
        let is_long = lines > Some(MAX_FUNCTION) && !reason.is_empty();
        assert!(is_long, "{path}: {name} has {lines:?} lines: do not name it");
    }
}
