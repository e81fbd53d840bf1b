//! Reports of `assent watch` (`assent/watch/v1`) as far as proofs name them: the signed note over the files, and the
//! result of the visits.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::entry;
use super::note::{Note, NoteError, Verifier};
use crate::types::json::strict::{self, Object};

pub const SCHEMA: &str = "assent/watch/v1";
pub const JSON: &str = "report.json";

/// The visits of a page. Without one of them a page does not count as silent.
pub const VISITS: [&str; 6] =
    ["untouched", "declined", "accepted_then_withdrawn", "gpc", "returning", "blocked"];

/// The reason why a note is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum WatchNoteError {
    #[error("this folder has no report that names its watcher")]
    NoWatcher,
    #[error("report.note: {0}")]
    Note(#[from] NoteError),
    #[error("report.note is no note over a report")]
    OtherNote,
    #[error("{0} was changed after the report was signed")]
    Changed(String),
}

#[derive(Debug)]
pub struct WatchNote {
    pub watcher: Verifier,
    pub time: String,
    /// The SHA-256 in lowercase hex and the name of each file.
    pub files: Vec<(String, String)>,
}

/// The text of a note: schema, time, and a line for each file.
pub fn text_of_note(time: &str, files: &[(String, Vec<u8>)]) -> String {
    let lines = files.iter().map(|(name, bytes)| format!("{} {name}\n", sha256(bytes)));
    format!("{SCHEMA}\n{time}\n{}", lines.collect::<String>())
}

impl WatchNote {
    /// Opens a note with a trusted key, or with the key that the report names.
    pub fn open(
        note: &str,
        json: &[u8],
        trusted: Option<&Verifier>,
    ) -> Result<Self, WatchNoteError> {
        let named = || {
            let report = serde_json::from_slice::<Value>(json).ok()?;
            Verifier::parse(report["watcher"].as_str()?)
        };
        let watcher = trusted.cloned().or_else(named).ok_or(WatchNoteError::NoWatcher)?;
        let note = Note::parse(note)?;
        let text = watcher.open_parsed(&note)?;
        // The key may come from the report itself, so no signature besides that of this key is accepted.
        if note.signatures.len() != 1 {
            return Err(WatchNoteError::OtherNote);
        }
        let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        let (schema, time) = (lines.next(), lines.next().unwrap_or_default().to_owned());
        if schema != Some(SCHEMA) {
            return Err(WatchNoteError::OtherNote);
        }
        let files = lines.map(|line| {
            let (sha256, name) = line.split_once(' ').ok_or(WatchNoteError::OtherNote)?;
            match name.contains(['/', '\\']) || name.starts_with('.') {
                true => Err(WatchNoteError::OtherNote),
                false => Ok((sha256.to_owned(), name.to_owned())),
            }
        });
        let signed = Self { watcher, time, files: files.collect::<Result<_, _>>()? };
        if !signed.files.iter().any(|(_, name)| name == JSON) {
            return Err(WatchNoteError::OtherNote);
        }
        signed.check(JSON, json)?;
        Ok(signed)
    }

    /// Fails unless the bytes are those of the file when it was signed.
    pub fn check(&self, name: &str, bytes: &[u8]) -> Result<(), WatchNoteError> {
        let found = sha256(bytes);
        let mut signed = self.files.iter().filter(|(_, signed)| signed == name);
        match signed.all(|(sha256, _)| *sha256 == found) {
            true => Ok(()),
            false => Err(WatchNoteError::Changed(name.to_owned())),
        }
    }
}

#[derive(Deserialize)]
struct Report {
    time: String,
    pages: Vec<Object<Page>>,
}

#[derive(Deserialize)]
struct Page {
    url: String,
    visits: Vec<Object<Visit>>,
}

#[derive(Deserialize)]
struct Visit {
    #[serde(default)]
    visit: Value,
    silent: Option<bool>,
    leaks: Vec<Value>,
    #[serde(default)]
    allowed: Vec<Value>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct WatchResult {
    /// RFC 3339, as the watcher signed it.
    pub time: String,
    /// The watcher's verifier key.
    pub watcher: String,
    /// The address of the first page.
    pub url: String,
    pub pages: usize,
    pub leaks: usize,
    pub allowed: usize,
    /// Whether all six visits of every page were observed and silent.
    pub is_silent: bool,
}

impl WatchResult {
    /// `None` if the report cannot be read, or is not what its watcher signed.
    pub fn read(report: &str, note: &str) -> Option<Self> {
        let signed = WatchNote::open(note, report.as_bytes(), None).ok()?;
        let read = strict::read_object::<Report>(report.as_bytes()).ok()?;
        if signed.time != read.time || entry::time(&read.time).is_none() {
            return None;
        }
        let visits = || read.pages.iter().flat_map(|Object(page)| &page.visits);
        let has =
            |page: &Page, name: &str| page.visits.iter().any(|Object(made)| made.visit == name);
        let is_complete = |page: &Page| VISITS.iter().all(|name| has(page, name));
        let is_visited = read.pages.iter().all(|Object(page)| is_complete(page));
        Some(Self {
            watcher: signed.watcher.to_string(),
            url: read.pages.first()?.0.url.clone(),
            pages: read.pages.len(),
            leaks: visits().map(|Object(visit)| visit.leaks.len()).sum(),
            allowed: visits().map(|Object(visit)| visit.allowed.len()).sum(),
            is_silent: is_visited && visits().all(|Object(visit)| visit.silent == Some(true)),
            time: read.time,
        })
    }
}

/// The SHA-256 in lowercase hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
