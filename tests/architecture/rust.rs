//! The imports of the Rust sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::graph::Graph;

/// A source file below `src/`.
pub struct Source {
    /// `accounts/store/keys.rs`.
    pub path: String,
    /// `["accounts", "store", "keys"]`; the folder's own for its `mod.rs`.
    pub module: Vec<String>,
    pub text: String,
}

impl Source {
    /// The first folder or file under `src/`.
    pub fn top_module(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    /// The text without comments and without the tests at its end.
    pub fn program(&self) -> String {
        let tests = self.text.find("\n#[cfg(test)]\n").unwrap_or(self.text.len());
        let lines = self.text[..tests].lines();
        lines.map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
    }
}

pub fn sources() -> Vec<Source> {
    sources_below("src")
}

/// The folders of the test crates, such as `tests/console`.
pub fn test_crates() -> Vec<String> {
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    let folders = folders.expect("the tests").map(|entry| entry.expect("an entry").path());
    let crates = folders.filter(|folder| folder.join("main.rs").exists());
    let crates =
        crates.filter_map(|folder| Some(format!("tests/{}", folder.file_name()?.to_str()?)));
    let crates = crates.collect::<Vec<_>>();
    assert!(crates.len() > 8, "the test crates were found");
    crates
}

/// The sources of one program, by the folder of its `main.rs` or `lib.rs`.
pub fn sources_below(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources = walkdir::WalkDir::new(&root)
        .into_iter()
        .map(|entry| entry.expect("the folder is readable").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|file| {
            let path = file.strip_prefix(&root).expect("below").display().to_string();
            let text = fs::read_to_string(&file).expect("readable source");
            Source { module: module_of(&path), path, text }
        })
        .collect::<Vec<_>>();
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    assert!(sources.len() > 2, "the sources were found");
    sources
}

fn module_of(path: &str) -> Vec<String> {
    let name = path.trim_end_matches(".rs").trim_end_matches("/mod");
    match name {
        "lib" | "main" | "mod" => Vec::new(),
        name => name.split('/').map(str::to_owned).collect(),
    }
}

/// Dependencies between files, through `use` and through paths in the code.
pub fn imports(sources: &[Source]) -> Graph {
    let files = sources
        .iter()
        .filter(|source| !source.module.is_empty())
        .map(|source| (source.module.clone(), source.path.as_str()))
        .collect::<BTreeMap<_, _>>();
    let mut graph = Graph::default();
    for source in sources {
        for path in used_paths(&source.program(), &source.module, &files) {
            let longest = (1..=path.len()).rev().find_map(|len| files.get(&path[..len]));
            if let Some(file) = longest {
                graph.add(&source.path, file);
            }
        }
    }
    graph
}

/// The absolute paths of this crate that a text names, each as the names from the crate's root on.
fn used_paths<T>(
    text: &str,
    module: &[String],
    files: &BTreeMap<Vec<String>, T>,
) -> Vec<Vec<String>> {
    let absolute = |path: Vec<String>| -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" | "assent" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                let base = module.get(..module.len().checked_sub(up)?)?;
                Some([base, &path[up..]].concat())
            }
            // A child of the module.
            _ => {
                let child = [module, std::slice::from_ref(first)].concat();
                files.contains_key(&child).then(|| [module, &path].concat())
            }
        }
    };
    written_paths(text).into_iter().filter_map(absolute).collect()
}

/// The paths in a text, as they are written: the branches of `use` trees, and `a::b` in the code.
fn written_paths(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut rest = text;
    while let Some(token) = next_path(&mut rest) {
        expand(token, &[], &mut paths);
    }
    paths
}

/// Cuts off the text up to the end of the next path that has at least two names, with its tree. The path of
/// `pub(in path)` is passed over: it uses nothing.
fn next_path<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    loop {
        let colons = rest.find("::")?;
        let start = rest[..colons].rfind(|character| !is_word(character)).map_or(0, |at| at + 1);
        let mut end = colons;
        while let Some(after) = rest[end..].strip_prefix("::") {
            end += 2;
            if after.starts_with('{') {
                end += closing(after)?;
                break;
            }
            end += after.find(|character| !is_word(character)).unwrap_or(after.len());
        }
        let path = &rest[start..end];
        let is_visibility = rest[..start].ends_with("pub(in ");
        *rest = &rest[end..];
        if colons > start && !is_visibility {
            return Some(path);
        }
    }
}

/// The length of a group in braces.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at + 1),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn expand(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let (head, group) = match tree.find('{') {
        Some(at) => {
            (&tree[..at], tree[at..].strip_prefix('{').and_then(|group| group.strip_suffix('}')))
        }
        None => (tree, None),
    };
    let names = head.split("::").map(|name| name.split_whitespace().next().unwrap_or_default());
    let names = names.filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let path = [prefix, &names].concat();
    match group {
        None => paths.push(path),
        Some(group) => {
            for branch in branches(group) {
                expand(branch.trim(), &path, paths);
            }
        }
    }
}

fn branches(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[start..]);
    found.into_iter().filter(|branch| !branch.trim().is_empty()).collect()
}

#[test]
fn an_import_is_seen_however_it_is_written() {
    let files = ["a", "a/b", "a/b/c", "d", "e"];
    let files = files.map(|path| (module_of(path), ())).into_iter().collect::<BTreeMap<_, _>>();
    let text = "use crate::{a::{self, b::c as x}, d};\npub use c::Thing;\nlet y = super::f();\n\
                let z = crate::e::g(std::mem::take(h));\nuse super::super::d;";
    let mut used = used_paths(text, &module_of("a/b"), &files)
        .into_iter()
        .map(|path| path.join("::"))
        .collect::<Vec<_>>();
    used.sort();
    assert_eq!(used, ["a::b::c", "a::b::c::Thing", "a::f", "a::self", "d", "d", "e::g"]);
}

#[test]
fn the_scope_of_a_visibility_is_no_import() {
    let files = ["a", "a/b"].map(|path| (module_of(path), ()));
    let files = files.into_iter().collect::<BTreeMap<_, _>>();
    let used = |text: &str| used_paths(text, &module_of("a/b"), &files);
    assert!(used("pub(in crate::a) fn f() {}\npub(in super::super) const C: u8 = 1;").is_empty());
    assert_eq!(used("fn f() { crate::a::g(); }"), [["a", "g"]]);
}
