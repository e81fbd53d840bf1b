//! Holds the plan of the house: arrows run one way, no two files use each other, SQL stays in the
//! stores, features know no door, files stay small.

mod distributed;
mod documents;
mod exceptions;
mod graph;
mod rust;
mod sql;
mod typescript;
mod words;
mod writing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use graph::Graph;
use rust::{imports, sources, sources_below};

/// From the ground up. A room uses only rooms of lower floors, and the leaves each other; rooms of
/// one floor leave each other alone.
const FLOORS: &[&[&str]] = &[
    &["clock", "config", "error", "types"],
    &["infra"],
    &["proof"],
    &["accounts"],
    &["pixels"],
    &["policies"],
    &["receipts"],
    &["contacts"],
    &["erasure"],
    &["webhooks"],
    &["billing"],
    &["account_deletion"],
    &["delivery"],
    &["jobs"],
    &["app"],
    &["guide", "http"],
    &["api", "mcp", "web"],
    &["server"],
    &["cli"],
    &["main", "lib"],
];

/// Leaves that may use other leaves.
const LEAVES: usize = 0;

/// What only doors and the command line may know, and `server`, which mounts them.
const DOORS_ONLY: &[&str] = &["rocket::", "rocket_dyn_templates::", "rmcp::"];

/// Where SQL may stand besides `store.rs` and `store/`: what connections are told, and the news that
/// goes with a commit.
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

/// A line count past which a file needs a seam.
const MAX_LINES: usize = 330;
/// A number of files past which a folder needs subfolders.
const MAX_FILES: usize = 20;

fn floor_of(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn room_of(path: &str) -> &str {
    path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

#[test]
fn every_room_has_a_floor() {
    for source in sources() {
        assert!(floor_of(source.room()).is_some(), "{}: add it to FLOORS", source.path);
    }
}

#[test]
fn arrows_run_one_way() {
    let sources = sources();
    let imports = imports(&sources);
    let wrong = imports
        .edges()
        .filter(|(from, to)| {
            let (from, to) = (room_of(from), room_of(to));
            let (above, below) = (floor_of(from), floor_of(to));
            from != to && below >= above && (below, above) != (Some(LEAVES), Some(LEAVES))
        })
        .map(|(from, to)| format!("{from} uses {to}"))
        .collect::<Vec<_>>();
    assert!(wrong.is_empty(), "against the floors:\n{}", wrong.join("\n"));
}

#[test]
fn no_two_files_use_each_other() {
    let programs = ["src", "tests/api", "tests/long", "tests/deploy", "tests/architecture"];
    let mut graphs = programs.map(|folder| imports(&sources_below(folder))).to_vec();
    graphs.push(typescript::imports());
    let circles = graphs.iter().flat_map(Graph::circles).collect::<Vec<_>>();
    let told = circles.iter().map(|circle| circle.join(", ")).collect::<Vec<_>>();
    assert!(told.is_empty(), "{} circles:\n{}", told.len(), told.join("\n"));
}

#[test]
fn sql_stays_in_the_stores() {
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
fn what_lies_below_the_doors_knows_none() {
    let doors = floor_of("http");
    for source in sources().iter().filter(|source| floor_of(source.room()) < doors) {
        let program = source.program();
        for library in DOORS_ONLY {
            assert!(!program.contains(library), "{} uses {library}", source.path);
        }
    }
}

#[test]
fn only_the_clock_asks_the_machine_for_the_time() {
    for source in sources().iter().filter(|source| source.room() != "clock") {
        for call in ["Utc::now(", "Local::now(", "SystemTime::now("] {
            assert!(!source.text.contains(call), "{} asks for the time", source.path);
        }
    }
}

#[test]
fn what_is_kept_in_memory_is_in_the_one_cache() {
    for source in sources().iter().filter(|source| !source.path.starts_with("infra/cache/")) {
        assert!(!source.text.contains("moka::"), "{} has a cache of its own", source.path);
    }
}

#[test]
fn files_stay_small_enough_to_read() {
    for source in sources() {
        let lines = source.text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines; find its seam", source.path);
    }
}

#[test]
fn folders_stay_small_enough_to_survey() {
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
