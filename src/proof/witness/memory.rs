//! A witness's memory of a log: the last state that it cosigned, in a file.

use std::io;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

use crate::proof::files;
use crate::proof::format::checkpoint::Checkpoint;
use crate::proof::format::hashes::Hash;
use crate::proof::format::note::Note;

pub struct Memory {
    file: PathBuf,
    last: Option<(Checkpoint, String)>,
}

/// The form of a log's name in URLs and file names.
pub fn name_of(origin: &str) -> String {
    hex::encode(digest(&SHA256, origin.as_bytes()))
}

impl Memory {
    /// Reads the memory of a log. An unreadable file is an error: without it, the witness would cosign any state.
    pub fn open(folder: &Path, origin: &str) -> io::Result<Self> {
        let file = folder.join(name_of(origin));
        let last = match files::read(&file)? {
            None => None,
            Some(note) => {
                let broken = || {
                    let message = format!("{} holds no checkpoint of {origin}", file.display());
                    io::Error::new(io::ErrorKind::InvalidData, message)
                };
                let read = Note::parse(&note).ok();
                let read = read.and_then(|note| Checkpoint::parse_extended(note.text));
                let known = read.filter(|known| known.origin == origin).ok_or_else(broken)?;
                Some((known, note))
            }
        };
        Ok(Self { file, last })
    }

    pub fn known(&self) -> Option<(u64, Hash)> {
        self.last.as_ref().map(|(known, _)| (known.size, known.root))
    }

    pub fn note(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, note)| note.as_str())
    }

    /// Stores another state, on disk first.
    pub fn replace(&mut self, checkpoint: &Checkpoint, note: &str) -> io::Result<()> {
        files::replace(&self.file, note)?;
        self.last = Some((checkpoint.clone(), note.to_owned()));
        Ok(())
    }
}
