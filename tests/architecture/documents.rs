//! Paths that the documents for contributors name exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents, and how many paths each names at least.
const DOCUMENTS: [(&str, usize); 2] = [("docs/ARCHITECTURE.md", 60), ("CONTRIBUTING.md", 15)];

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

/// Terms in backticks that have the form of a path: they end with a slash or with the extension of a source file,
/// or begin with the name of a module and contain a slash. `NNNN` stands for the number of a new file.
fn named_paths(document: &str) -> Vec<&str> {
    let has_form = |term: &&str| {
        let is_path = term.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        let extensions = [".rs", ".ts", ".sql", ".py", ".md", ".toml", ".tera"];
        is_path
            && !term.contains("NNNN")
            && (term.ends_with('/')
                || extensions.iter().any(|extension| term.ends_with(extension))
                || ["accounts/", "receipts/", "infra/"]
                    .iter()
                    .any(|module| term.starts_with(module)))
    };
    document.split('`').skip(1).step_by(2).filter(has_form).collect()
}

#[test]
fn the_documents_name_only_paths_that_exist() {
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
    for (path, at_least) in DOCUMENTS {
        let document = fs::read_to_string(repository().join(path)).expect(path);
        let named = named_paths(&document);
        assert!(named.len() > at_least, "{path}: {} paths were found", named.len());
        let is_there = |name: &str| {
            let suffix = format!("/{}", name.trim_end_matches('/'));
            let is_named = |known: &String| {
                let known = known.trim_end_matches('/');
                known == name.trim_end_matches('/') || known.ends_with(&suffix)
            };
            paths.iter().any(is_named) || repository().join(name).exists()
        };
        let missing: Vec<_> = named.into_iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{path} names paths that do not exist: {missing:?}");
    }
}
