//! `assent verify` on the folder of a report.

use std::collections::BTreeSet;
use std::path::Path;

use assent::watch::report::{NOTE, verify};

use crate::support::process::{bare_program, run, said};
use crate::support::watch_reports::ReportMade;

/// The exit code of the command.
pub async fn verified(folder: &Path, more: &[&str]) -> Option<i32> {
    let mut command = bare_program();
    command.arg("verify").arg(folder).args(more);
    let (code, output, complaint) = said(&run(command).await);
    println!("{output}{complaint}");
    code
}

/// Positions of bytes to change: the first and last ones, and some between them.
fn positions(length: usize) -> BTreeSet<usize> {
    let between = (1..4).map(|part| length * part / 4);
    between.chain([0, 1, length - 3, length - 2, length - 1]).collect()
}

/// Fails unless a change of any of these bytes of a file is found. The last change stays.
fn changes_are_found(folder: &Path, file: &Path, positions: &BTreeSet<usize>) {
    let bytes = std::fs::read(file).unwrap();
    for &position in positions {
        // Another character, the other case of a letter, and no text at all.
        for bit in [1, 0x20, 0x80] {
            let mut changed = bytes.clone();
            changed[position] ^= bit;
            std::fs::write(file, changed).unwrap();
            assert!(verify(folder, None).is_err(), "{} at {position}: {bit}", file.display());
        }
    }
}

/// Fails unless the report holds, and no longer does after a change of any file. The command verifies one change
/// of each file, because every start of it takes time; what it calls verifies all.
pub async fn every_change_is_found(folder: &Path) {
    assert_eq!(verified(folder, &[]).await, Some(0));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.collect::<Vec<_>>();
    assert_eq!(files.len(), 5 + 6, "a picture of each visit: {files:?}");
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        // The note is small; of the others some bytes are enough, because the note has their hashes.
        let positions = match file.ends_with(NOTE) {
            true => (0..bytes.len()).collect(),
            false => positions(bytes.len()),
        };
        changes_are_found(folder, file, &positions);
        assert_eq!(verified(folder, &[]).await, Some(1), "{} is changed", file.display());
        std::fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
        assert!(verify(folder, None).is_err(), "{} is shorter", file.display());
        std::fs::remove_file(file).unwrap();
        assert!(verify(folder, None).is_err(), "{} is missing", file.display());
        assert_eq!(verified(folder, &[]).await, Some(1), "{} is missing", file.display());
        std::fs::write(file, bytes).unwrap();
        assert!(verify(folder, None).is_ok(), "{} is as before", file.display());
    }
    let other_key = "assent-watch+99e7153c+AXkJVnPjtOK/ilbmK+qXK4bnP37YdsropGQQ3uUNE7TV";
    assert_eq!(verified(folder, &["--key", other_key]).await, Some(1));
    assert_eq!(verified(folder, &[]).await, Some(0));
}

#[test]
fn every_changed_byte_of_report_and_note_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let report = ReportMade::of("shop.example").leaking_to("t.example");
    let files = [("report.json", report.text()), (NOTE, report.note())];
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert_eq!(verify(folder.path(), None).unwrap().files, 1);
    for (name, text) in &files {
        let positions = (0..text.len()).collect();
        let file = folder.path().join(name);
        changes_are_found(folder.path(), &file, &positions);
        std::fs::write(file, text).unwrap();
    }
    assert!(verify(folder.path(), None).is_ok());
}

#[tokio::test]
async fn the_sample_of_the_documentation_holds_and_names_what_its_text_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/samples/watch");
    assert_eq!(verified(&folder, &[]).await, Some(0));
    let report = std::fs::read(folder.join("report.json")).unwrap();
    let report = serde_json::from_slice::<serde_json::Value>(&report).unwrap();
    for visit in report["pages"][0]["visits"].as_array().unwrap() {
        let leaks = visit["leaks"].as_array().unwrap().iter();
        let named = leaks.map(|leak| (leak["kind"].as_str(), leak["host"].as_str()));
        let expected = [
            ("script", "statistics.example"),
            ("image", "ads.example"),
            ("cookie", "shop.example"),
        ];
        let expected = expected.map(|(kind, host)| (Some(kind), Some(host)));
        assert_eq!(named.collect::<BTreeSet<_>>(), BTreeSet::from(expected), "{}", visit["visit"]);
    }
}
