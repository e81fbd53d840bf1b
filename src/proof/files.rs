use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces a file atomically and durably.
pub fn replace(file: &Path, text: &str) -> io::Result<()> {
    let fresh = beside(file, ".new");
    let mut written = fs::File::create(&fresh)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&fresh, file)?;
    sync_folder_of(file)
}

pub fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file in the same folder with this suffix appended to its name.
pub fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.file_name().map(OsString::from).unwrap_or_default();
    name.push(end);
    file.with_file_name(name)
}

/// Syncs the folder of a file, so that a new name survives a crash.
pub fn sync_folder_of(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}
