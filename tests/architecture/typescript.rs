//! The imports of the browser scripts, and of the tests in a browser.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::graph::Graph;

/// Which script file uses which.
pub fn imports() -> Graph {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["scripts-src", "tests/browser/specs", "tests/browser/support"];
    let mut graph = Graph::default();
    for entry in folders.iter().flat_map(|folder| walkdir::WalkDir::new(root.join(folder))) {
        let file = entry.expect("the folder is readable").into_path();
        if file.extension().is_none_or(|extension| extension != "ts") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("readable source");
        let folder = file.parent().expect("a file is in a folder");
        let name = |path: &Path| path.strip_prefix(root).expect("below").display().to_string();
        for used in imported(&text) {
            graph.add(&name(&file), &name(&plain(&folder.join(format!("{used}.ts")))));
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

#[test]
fn every_import_is_seen() {
    let text = "import { a } from './a';\nimport '../b';\nexport * from './c/d';\nimport x from 'library';";
    assert_eq!(imported(text).collect::<Vec<_>>(), ["./a", "./c/d", "../b"]);
}
