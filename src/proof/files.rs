//! Files that are there as a whole or not at all, whatever happens while they are written.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Puts a text in the place of what a file held. When this returns the text outlasts the machine; the old
/// one or the new one is there at any moment.
pub fn replace(file: &Path, text: &str) -> io::Result<()> {
    let fresh = file.with_extension("new");
    let mut written = fs::File::create(&fresh)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&fresh, file)?;
    file.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
}

/// What a file holds; `None` when there is none.
pub fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
