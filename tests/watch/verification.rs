//! `assent verify` on the folder of a report.

use std::collections::BTreeSet;
use std::path::Path;

use assent::watch::report::verify;

use crate::support::process::{bare_program, run, said};

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

/// Fails unless the report holds, and no longer does after a change of any file. The command verifies one change
/// of each file, because every start of it takes time; what it calls verifies all.
pub async fn every_change_is_found(folder: &Path) {
    assert_eq!(verified(folder, &[]).await, Some(0));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.collect::<Vec<_>>();
    assert_eq!(files.len(), 5 + 6, "a picture of each visit: {files:?}");
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        for position in positions(bytes.len()) {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            std::fs::write(file, changed).unwrap();
            assert!(verify(folder, None).is_err(), "{} at {position}", file.display());
        }
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
