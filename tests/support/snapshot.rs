//! Texts that were agreed on, kept in files of the repository.

use std::path::Path;

/// Fails unless the text is the one in the file, a path from the repository's root. Run with
/// `UPDATE_SNAPSHOTS=1` to agree on another one.
#[track_caller]
pub fn matches(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("the repository can be written");
    }
    let agreed = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((number, (was, is))) =
        agreed.lines().zip(text.lines()).enumerate().find(|(_, (was, is))| was != is)
    {
        panic!("{file}, line {}:\n  agreed {was}\n  is     {is}", number + 1);
    }
    assert!(agreed == text, "{file} is shorter or longer than what was agreed on");
}
