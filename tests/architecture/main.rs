//! Checks the structure of the source: modules use only lower layers, no two files use each other, SQL is only in
//! stores, features do not depend on transports, and files, functions and folders are small.

mod code;
mod distributed;
mod documents;
mod exceptions;
mod functions;
mod graph;
mod infra;
mod replaced_words;
mod rust;
mod sizes;
mod sql;
mod typescript;
mod words;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use graph::Graph;
use rust::{Source, imports, sources, sources_below, test_crates};

/// Modules of the lowest layer, which may use each other.
const LOWEST: usize = 0;

/// Libraries that only transports, `http`, `server` and the command line may use.
const TRANSPORTS_ONLY: &[&str] = &["rocket::", "rocket_dyn_templates::", "rmcp::"];

/// Folders that may contain SQL besides `store.rs` and `store/`: settings of connections, and the notification
/// that is sent with a commit.
const SQL_BELOW_STORES: &[&str] = &["infra/postgres/", "infra/changes/"];

/// The ways to hand SQL to the database.
const SQL: &[&str] = &[
    "query!(",
    "query_as!(",
    "query_scalar!(",
    "query_file",
    "sqlx::query",
    "raw_sql(",
    "QueryBuilder",
];

/// Most files of a folder.
const MAX_FILES: usize = 20;
/// Most layers inside a module: the files on the longest chain of imports.
const MAX_LAYERS: usize = 8;

/// The layers of modules, from the lowest: the blocks of declarations in `lib.rs`, and the program above them.
fn layers() -> Vec<Vec<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let text = std::fs::read_to_string(file).expect("readable source");
    let declared = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    let blocks = text.split("\n\n").map(|block| block.lines().filter_map(declared).collect());
    let mut layers = blocks.filter(|block: &Vec<_>| !block.is_empty()).collect::<Vec<_>>();
    assert!(layers.len() > 10, "the layers were found");
    layers.push(vec!["cli".to_owned()]);
    layers.push(vec!["main".to_owned(), "lib".to_owned()]);
    layers
}

fn layer_of(layers: &[Vec<String>], module: &str) -> Option<usize> {
    layers.iter().position(|modules| modules.iter().any(|name| name == module))
}

fn module_of(path: &str) -> &str {
    path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

#[test]
fn every_module_is_in_a_layer() {
    let layers = layers();
    for source in sources() {
        let layer = layer_of(&layers, source.top_module());
        assert!(layer.is_some(), "{}: declare its module in lib.rs", source.path);
    }
}

#[test]
fn modules_use_only_lower_layers() {
    let (layers, sources) = (layers(), sources());
    let imports = imports(&sources);
    let wrong = imports
        .edges()
        .filter(|(from, to)| {
            let (from, to) = (module_of(from), module_of(to));
            let (above, below) = (layer_of(&layers, from), layer_of(&layers, to));
            from != to && below >= above && (below, above) != (Some(LOWEST), Some(LOWEST))
        })
        .map(|(from, to)| format!("{from} uses {to}"))
        .collect::<Vec<_>>();
    assert!(wrong.is_empty(), "against the layers of lib.rs:\n{}", wrong.join("\n"));
}

#[test]
fn modules_have_few_layers_inside() {
    let sources = sources();
    let imports = imports(&sources);
    let modules = sources.iter().map(Source::top_module).collect::<BTreeSet<_>>();
    for module in modules {
        let chain = imports.longest_chain(|path| module_of(path) == module);
        let (layers, chain) = (chain.len(), chain.join(" > "));
        assert!(layers <= MAX_LAYERS, "{module} has {layers} layers: {chain}");
    }
}

#[test]
fn stores_are_private_to_their_feature() {
    for source in sources() {
        let is_feature = source.module.len() == 1;
        let refused: &[&str] = match is_feature {
            true => &["pub mod store;", "pub(crate) mod store;", "pub(super) mod store;"],
            false => &["pub mod store;", "pub(crate) mod store;"],
        };
        for declaration in refused {
            assert!(!source.text.contains(declaration), "{} has a public store", source.path);
        }
    }
}

#[test]
fn no_two_files_use_each_other() {
    let programs = ["src", "tests/support"].map(str::to_owned).into_iter().chain(test_crates());
    let mut graphs = programs.map(|folder| imports(&sources_below(&folder))).collect::<Vec<_>>();
    graphs.push(typescript::imports());
    let circles = graphs.iter().flat_map(Graph::circles).collect::<Vec<_>>();
    let listed = circles.iter().map(|circle| circle.join(", ")).collect::<Vec<_>>();
    assert!(listed.is_empty(), "{} circles:\n{}", listed.len(), listed.join("\n"));
}

#[test]
fn sql_is_only_in_stores() {
    for source in sources() {
        let is_store = source.path.ends_with("store.rs") || source.path.contains("/store/");
        if is_store || SQL_BELOW_STORES.iter().any(|folder| source.path.starts_with(folder)) {
            continue;
        }
        for call in SQL {
            assert!(!source.text.contains(call), "{} has SQL", source.path);
        }
    }
}

#[test]
fn modules_below_http_use_no_library_of_transports() {
    let layers = layers();
    let http = layer_of(&layers, "http");
    for source in sources().iter().filter(|source| layer_of(&layers, source.top_module()) < http) {
        let program = source.program();
        for library in TRANSPORTS_ONLY {
            assert!(!program.contains(library), "{} uses {library}", source.path);
        }
    }
}

#[test]
fn only_the_clock_reads_the_system_time() {
    for source in sources().iter().filter(|source| source.top_module() != "clock") {
        for call in ["Utc::now(", "Local::now(", "SystemTime::now("] {
            assert!(!source.text.contains(call), "{} reads the system time", source.path);
        }
    }
}

#[test]
fn data_kept_in_memory_is_in_infra_cache() {
    for source in sources().iter().filter(|source| !source.path.starts_with("infra/cache/")) {
        assert!(!source.text.contains("moka::"), "{} has a cache of its own", source.path);
    }
}

#[test]
fn folders_are_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut counts = BTreeMap::<PathBuf, usize>::new();
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("the folder is readable");
        let folder = entry.path().parent().filter(|_| entry.file_type().is_file());
        if let Some(folder) = folder {
            *counts.entry(folder.to_owned()).or_default() += 1;
        }
    }
    assert!(counts.len() > 20, "the folders were found");
    for (folder, files) in counts {
        assert!(files <= MAX_FILES, "{} has {files} files; group them", folder.display());
    }
}
