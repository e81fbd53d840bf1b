//! Holds the layers: every import points downward, SQL stays in the stores, files stay small.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. A room uses only rooms of lower floors; rooms of one floor leave each
/// other alone.
const FLOORS: &[&[&str]] = &[
    &["clock", "config", "error", "ids", "locales", "text_enum"],
    &["platform"],
    &["http"],
    &["accounts"],
    &["pixels"],
    &["contacts", "consent"],
    &["billing"],
    &["scripts", "retention"],
    &["guide"],
    &["pages", "agents"],
];

/// Leaves that may use other leaves; none of them uses `error`'s users.
const LEAVES: usize = 0;

/// A line count past which a file needs a seam.
const MAX_LINES: usize = 400;

struct Source {
    path: PathBuf,
    /// The first folder or file under `src/`, without extension.
    room: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = walkdir::WalkDir::new(&root)
        .into_iter()
        .map(|entry| entry.expect("src/ is readable").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            let inside = path.strip_prefix(&root).expect("under src/");
            let first = inside.components().next().expect("a file has a name");
            let room = Path::new(first.as_os_str()).with_extension("").display().to_string();
            Source {
                room,
                text: fs::read_to_string(&path).expect("readable source"),
                path: inside.to_owned(),
            }
        })
        .collect::<Vec<_>>();
    files.sort_by(|left, right| left.path.cmp(&right.path));
    assert!(files.len() > 30, "the sources were found");
    files
}

fn floor_of(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// The rooms that a text names as `crate::room` or inside `crate::{…}`.
fn used_rooms(text: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.chars()
            .take_while(|&character| character.is_ascii_lowercase() || character == '_')
            .collect()
    };
    text.match_indices("crate::")
        .flat_map(|(at, prefix)| {
            let rest = &text[at + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(group) => group
                    .split('}')
                    .next()
                    .unwrap_or_default()
                    .split(',')
                    .map(|item| word(item.trim()))
                    .collect::<Vec<_>>(),
                None => vec![word(rest)],
            }
        })
        .filter(|room| !room.is_empty())
        .collect()
}

#[test]
fn every_room_has_a_floor() {
    for source in sources() {
        let is_entrance = matches!(source.room.as_str(), "main" | "lib" | "cli");
        assert!(
            is_entrance || floor_of(&source.room).is_some(),
            "{}: add it to FLOORS",
            source.path.display()
        );
    }
}

#[test]
fn imports_point_downward() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(floor) = floor_of(&source.room) else { continue };
        for used in used_rooms(&source.text).iter().filter(|used| **used != source.room) {
            let allowed = floor_of(used)
                .is_some_and(|used| used < floor || (used == LEAVES && floor == LEAVES));
            if !allowed {
                wrong.push(format!("{} uses crate::{used}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the layers:\n{}", wrong.join("\n"));
}

#[test]
fn the_check_of_imports_sees_every_way_to_write_one() {
    let text = "use crate::http::body;\nuse crate::{clock::Clock, pixels};\nlet x = crate::billing::quote();";
    assert_eq!(
        used_rooms(text).into_iter().collect::<Vec<_>>(),
        ["billing", "clock", "http", "pixels"]
    );
}

#[test]
fn features_keep_their_sql_in_the_store() {
    for source in sources() {
        let holds_sql = source.path.ends_with("store.rs")
            || source.path.components().any(|part| part.as_os_str() == "store");
        if source.room == "platform" || holds_sql {
            continue;
        }
        for macro_name in ["query!(", "query_as!(", "query_scalar!(", "sqlx::query("] {
            assert!(!source.text.contains(macro_name), "{} has SQL", source.path.display());
        }
    }
}

#[test]
fn only_the_clock_asks_the_machine_for_the_time() {
    for source in sources().iter().filter(|source| source.room != "clock") {
        for call in ["Utc::now(", "Local::now(", "SystemTime::now("] {
            assert!(!source.text.contains(call), "{} asks for the time", source.path.display());
        }
    }
}

#[test]
fn files_stay_small_enough_to_read() {
    for source in sources() {
        let lines = source.text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines; find its seam", source.path.display());
    }
}
