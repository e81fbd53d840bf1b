//! The imports and comments of the browser scripts, and of the tests in a browser.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::graph::Graph;

const FOLDERS: [&str; 4] =
    ["scripts-src", "tests/browser/specs", "tests/browser/support", "tests/browser/pictures"];

/// Words with which a comment does not begin: its first sentence is a statement.
const RELATIVE: [&str; 4] = ["What", "Who", "Whoever", "Whose"];

/// Files with comments that begin so. This list may only become shorter.
const NOT_REWRITTEN: [&str; 2] =
    ["tests/browser/specs/accessibility.spec.ts", "tests/browser/specs/performance.spec.ts"];

/// Path and text of every file, the paths relative to the root of the repository.
pub fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    for entry in FOLDERS.iter().flat_map(|folder| walkdir::WalkDir::new(root.join(folder))) {
        let file = entry.expect("the folder is readable").into_path();
        if file.extension().is_some_and(|extension| extension == "ts") {
            let path = file.strip_prefix(root).expect("below").display().to_string();
            sources.push((path, fs::read_to_string(&file).expect("readable source")));
        }
    }
    sources
}

/// The dependencies between script files.
pub fn imports() -> Graph {
    let mut graph = Graph::default();
    for (path, text) in sources() {
        let folder = Path::new(&path).parent().expect("a file is in a folder");
        for used in imported(&text) {
            let file = plain(&folder.join(format!("{used}.ts")));
            graph.add(&path, &file.display().to_string());
        }
    }
    graph
}

/// The files that a text imports from, as it names them.
fn imported(text: &str) -> impl Iterator<Item = &str> {
    let sources = text.split("from '").skip(1).chain(text.split("import '").skip(1));
    sources.filter_map(|rest| rest.split('\'').next()).filter(|path| path.starts_with('.'))
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The code without comments and strings. A template is a string between two backticks.
pub fn code(text: &str) -> String {
    let mut rest = text;
    let mut code = String::new();
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '\'' | '"' | '`' => string_length(rest, first),
            _ => 0,
        };
        code.push(if skipped == 0 { first } else { ' ' });
        rest = &rest[skipped.max(first.len_utf8())..];
    }
    code
}

/// The length of the string at the beginning of a text. Quotation marks in regular expressions end with their line.
fn string_length(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' if mark != '`' => return at,
            _ if character == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The first lines of all comments, without their marks.
fn first_lines(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut previous = "";
    for line in text.lines().map(str::trim) {
        let begins = match line.strip_prefix("/**") {
            Some(text) => Some(text),
            None if previous == "/**" => line.strip_prefix('*'),
            None if !previous.starts_with("//") => line.strip_prefix("//"),
            None => None,
        };
        found.extend(begins.map(str::trim));
        previous = line;
    }
    found
}

#[test]
fn comments_begin_with_a_statement() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if NOT_REWRITTEN.contains(&&*path) {
            continue;
        }
        for line in first_lines(&text) {
            if RELATIVE.contains(&line.split(' ').next().unwrap_or_default()) {
                found.push(format!("{path}: {line}"));
            }
        }
    }
    assert!(found.is_empty(), "comments that do not begin with a statement: {found:#?}");
}

#[test]
fn code_and_comments_are_separated() {
    let text = "const a = 'told \\' told'; // told\n/* told */ const told = `told ${b} told`;\nconst c = /['\"]/;";
    assert_eq!(code(text).matches("told").count(), 1);
    let text =
        "/** One. */\n/**\n * Two\n * and more\n */\n// Three\n// and more\nlet a;\n  // Four";
    assert_eq!(first_lines(text), ["One. */", "", "Two", "Three", "Four"]);
}

#[test]
fn every_import_is_seen() {
    let text = "import { a } from './a';\nimport '../b';\nexport * from './c/d';\nimport x from 'library';";
    assert_eq!(imported(text).collect::<Vec<_>>(), ["./a", "./c/d", "../b"]);
}
