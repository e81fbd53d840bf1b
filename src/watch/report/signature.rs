//! `report.note`: a signed note (c2sp.org/signed-note) over the SHA-256 of the other files and the time.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::model::SCHEMA;
use crate::proof::format::note::{Note, Signer, Verifier};

pub const NOTE: &str = "report.note";
pub const JSON: &str = "report.json";

/// The reason why a report is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, std::io::Error),
    #[error("this folder has no report that names its watcher")]
    NoWatcher,
    #[error("report.note: {0}")]
    Note(#[from] crate::proof::format::note::NoteError),
    #[error("report.note is no note over a report")]
    OtherNote,
    #[error("{0} was changed after the report was signed")]
    Changed(String),
}

/// The text of the note: schema, time, and a line for each file.
pub fn sign(signer: &Signer, time: &str, files: &[(String, Vec<u8>)]) -> String {
    let mut text = format!("{SCHEMA}\n{time}\n");
    for (name, bytes) in files {
        let _ = writeln!(text, "{} {name}", hex::encode(Sha256::digest(bytes)));
    }
    signer.sign(&text)
}

/// A report whose files are those that were signed.
#[derive(Debug)]
pub struct Verified {
    pub watcher: Verifier,
    pub time: String,
    pub files: usize,
}

/// A note over the `report.json` that was given with it.
#[derive(Debug)]
pub struct Signed {
    pub watcher: Verifier,
    pub time: String,
    /// The SHA-256 in lowercase hex and the name of each file.
    files: Vec<(String, String)>,
}

impl Signed {
    /// Opens a note with a trusted key, or with the key that the report names.
    pub fn open(note: &str, json: &[u8], trusted: Option<&Verifier>) -> Result<Self, VerifyError> {
        let named = || {
            let report = serde_json::from_slice::<Value>(json).ok()?;
            Verifier::parse(report["watcher"].as_str()?)
        };
        let watcher = trusted.cloned().or_else(named).ok_or(VerifyError::NoWatcher)?;
        let note = Note::parse(note)?;
        let text = watcher.open_parsed(&note)?;
        // The key of a report is unknown, so no other line is accepted beside its own.
        if note.signatures.len() != 1 {
            return Err(VerifyError::OtherNote);
        }
        let mut lines = text.lines();
        let (schema, time) = (lines.next(), lines.next().unwrap_or_default().to_owned());
        if schema != Some(SCHEMA) {
            return Err(VerifyError::OtherNote);
        }
        let files = lines.map(|line| {
            let (sha256, name) = line.split_once(' ').ok_or(VerifyError::OtherNote)?;
            match name.contains(['/', '\\']) || name.starts_with('.') {
                true => Err(VerifyError::OtherNote),
                false => Ok((sha256.to_owned(), name.to_owned())),
            }
        });
        let signed = Self { watcher, time, files: files.collect::<Result<_, _>>()? };
        if !signed.files.iter().any(|(_, name)| name == JSON) {
            return Err(VerifyError::OtherNote);
        }
        signed.check(JSON, json)?;
        Ok(signed)
    }

    fn check(&self, name: &str, bytes: &[u8]) -> Result<(), VerifyError> {
        let found = hex::encode(Sha256::digest(bytes));
        let mut signed = self.files.iter().filter(|(_, signed)| signed == name);
        match signed.all(|(sha256, _)| *sha256 == found) {
            true => Ok(()),
            false => Err(VerifyError::Changed(name.to_owned())),
        }
    }
}

/// Verifies the report in a folder, with a trusted key or with the key that the report names.
pub fn verify(folder: &Path, trusted: Option<&Verifier>) -> Result<Verified, VerifyError> {
    let read = |name: &str| {
        let bytes = fs::read(folder.join(name));
        bytes.map_err(|error| VerifyError::Unreadable(name.to_owned(), error))
    };
    let note = String::from_utf8(read(NOTE)?).map_err(|_| VerifyError::OtherNote)?;
    let signed = Signed::open(&note, &read(JSON)?, trusted)?;
    for (_, name) in &signed.files {
        signed.check(name, &read(name)?)?;
    }
    Ok(Verified { watcher: signed.watcher, time: signed.time, files: signed.files.len() })
}
