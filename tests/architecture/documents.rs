//! Paths and modules that `docs/ARCHITECTURE.md` names exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENT: &str = "docs/ARCHITECTURE.md";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file and folder below `folder`, relative to the repository; folders end with a slash.
fn paths_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path: PathBuf = entry.expect("an entry").path();
        let relative = path.strip_prefix(repository()).expect("a path below the repository");
        let name = relative.to_str().expect("a name in UTF-8").to_owned();
        if path.is_dir() && !path.ends_with("node_modules") {
            found.insert(name + "/");
            paths_below(&path, found);
        } else {
            found.insert(name);
        }
    }
}

/// Terms in backticks that have the form of a path: they end with a slash or with the extension of a source file.
fn named_paths(document: &str) -> Vec<&str> {
    let has_form = |term: &&str| {
        let is_path = term.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        let extensions = [".rs", ".ts", ".sql", ".py", ".md", ".toml", ".tera"];
        is_path
            && (term.ends_with('/') || extensions.iter().any(|extension| term.ends_with(extension)))
    };
    document.split('`').skip(1).step_by(2).filter(has_form).collect()
}

#[test]
fn the_architecture_document_names_only_paths_that_exist() {
    let mut paths = BTreeSet::new();
    let folders = [
        "src",
        "scripts-src",
        "tests",
        "docs",
        "migrations",
        "templates",
        "scripts",
        "bench",
        "deploy",
    ];
    for folder in folders {
        paths.insert(format!("{folder}/"));
        paths_below(&repository().join(folder), &mut paths);
    }
    let document = fs::read_to_string(repository().join(DOCUMENT)).expect(DOCUMENT);
    let named = named_paths(&document);
    assert!(named.len() > 60, "the paths were found: {}", named.len());
    let missing: Vec<_> = named
        .into_iter()
        .filter(|name| {
            let ends_so = |path: &String| path == name || path.ends_with(&format!("/{name}"));
            !paths.iter().any(ends_so) && !repository().join(name).exists()
        })
        .collect();
    assert!(missing.is_empty(), "{DOCUMENT} names paths that do not exist: {missing:?}");
}
