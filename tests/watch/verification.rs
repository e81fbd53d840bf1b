//! `assent verify` on the folder of a report.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::process::{bare_program, run, said};

async fn verify(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command = bare_program();
    command.arg("verify").arg(folder).args(more);
    let (code, output, complaint) = said(&run(command).await);
    (code, output + &complaint)
}

/// Positions of bytes to change: the first and last ones, and some between them.
fn positions(length: usize) -> BTreeSet<usize> {
    let between = (1..4).map(|part| length * part / 4);
    between.chain([0, 1, length - 3, length - 2, length - 1]).collect()
}

/// Fails unless the report holds, and no longer does after a change of any file.
pub async fn every_change_is_found(folder: &Path) {
    let (code, text) = verify(folder, &[]).await;
    assert_eq!(code, Some(0), "{text}");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.collect::<Vec<_>>();
    assert_eq!(files.len(), 5 + 6, "a picture of each visit: {files:?}");
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        for position in positions(bytes.len()) {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            std::fs::write(file, changed).unwrap();
            let (code, text) = verify(folder, &[]).await;
            assert_eq!(code, Some(1), "{} at {position}: {text}", file.display());
        }
        std::fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
        let (code, text) = verify(folder, &[]).await;
        assert_eq!(code, Some(1), "{} is shorter: {text}", file.display());
        std::fs::remove_file(file).unwrap();
        let (code, text) = verify(folder, &[]).await;
        assert_eq!(code, Some(1), "{} is missing: {text}", file.display());
        std::fs::write(file, bytes).unwrap();
    }
    let other_key = "assent-watch+99e7153c+AXkJVnPjtOK/ilbmK+qXK4bnP37YdsropGQQ3uUNE7TV";
    let (code, text) = verify(folder, &["--key", other_key]).await;
    assert_eq!(code, Some(1), "{text}");
    let (code, text) = verify(folder, &[]).await;
    assert_eq!(code, Some(0), "{text}");
}
