//! `report.note`: a signed note (c2sp.org/signed-note) over the SHA-256 of the other files and the time.

use std::fs;
use std::path::Path;

use crate::proof::format::note::{NoteSigner, Verifier};
use crate::proof::format::watch_report::{JSON, WatchNote, WatchNoteError, text_of_note};

pub const NOTE: &str = "report.note";

/// The reason why a folder has no valid report.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, std::io::Error),
    #[error(transparent)]
    Note(#[from] WatchNoteError),
}

pub fn sign(signer: &NoteSigner, time: &str, files: &[(String, Vec<u8>)]) -> String {
    signer.sign(&text_of_note(time, files))
}

/// A report whose files match its signed note.
#[derive(Debug)]
pub struct Verified {
    pub watcher: Verifier,
    pub time: String,
    pub files: usize,
}

/// Verifies the report in a folder, with a trusted key or with the key that the report names.
pub fn verify(folder: &Path, trusted: Option<&Verifier>) -> Result<Verified, VerifyError> {
    let read = |name: &str| {
        let bytes = fs::read(folder.join(name));
        bytes.map_err(|error| VerifyError::Unreadable(name.to_owned(), error))
    };
    let note = String::from_utf8(read(NOTE)?).map_err(|_| WatchNoteError::OtherNote)?;
    let signed = WatchNote::open(&note, &read(JSON)?, trusted)?;
    for (_, name) in &signed.files {
        signed.check(name, &read(name)?)?;
    }
    Ok(Verified { watcher: signed.watcher, time: signed.time, files: signed.files.len() })
}
