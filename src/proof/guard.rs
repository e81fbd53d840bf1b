//! What keeps the log from being signed twice in two ways.
//!
//! A database that is brought back from a backup does not know what was added since. Added to from
//! there, the log would tell some people one thing and others another, and each with our signature. So
//! what was signed last is remembered outside the database too: by every node for as long as it runs,
//! in a file where the service has a folder of its own, and by the witnesses, who are asked before a node
//! signs for the first time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::files;

/// In the service's own folder.
const FILE: &str = "log-checkpoint";

/// The signed notes that the database must not be behind.
pub struct Guard {
    file: Option<PathBuf>,
    last: Mutex<Option<String>>,
    /// What witnesses have shown us of our own, until the database was seen to go on from it.
    shown: Mutex<Vec<String>>,
    has_asked: AtomicBool,
}

impl Guard {
    pub fn new(folder: Option<&Path>) -> Self {
        Self {
            file: folder.map(|folder| folder.join(FILE)),
            last: Mutex::default(),
            shown: Mutex::default(),
            has_asked: AtomicBool::new(false),
        }
    }

    /// The notes that were signed last, as far as they are remembered.
    pub fn remembered(&self) -> io::Result<Vec<String>> {
        let kept = self.file.as_deref().map(files::read).transpose()?.flatten();
        let last = locked(&self.last).clone();
        Ok(last.into_iter().chain(kept).chain(locked(&self.shown).clone()).collect())
    }

    /// Remembers a note that everybody may see by now.
    pub fn remember(&self, note: &str) -> io::Result<()> {
        *locked(&self.last) = Some(note.to_owned());
        locked(&self.shown).clear();
        let Some(file) = &self.file else { return Ok(()) };
        if files::read(file).is_ok_and(|kept| kept.as_deref() == Some(note)) {
            return Ok(());
        }
        files::replace(file, note)
    }

    /// Remembers a note of our own that somebody outside knows.
    pub fn note_shown(&self, note: &str) {
        let mut shown = locked(&self.shown);
        if !shown.iter().any(|known| known == note) {
            shown.push(note.to_owned());
        }
    }

    /// Whether witnesses were asked since the program was started.
    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub fn note_asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }
}

/// Nothing that holds these can panic halfway.
fn locked<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_note_outlives_the_program_where_there_is_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let guard = Guard::new(Some(folder.path()));
        assert_eq!(guard.remembered().unwrap(), Vec::<String>::new());
        guard.remember("one").unwrap();
        guard.remember("two").unwrap();
        assert_eq!(guard.remembered().unwrap(), ["two", "two"]);
        assert_eq!(Guard::new(Some(folder.path())).remembered().unwrap(), ["two"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_a_folder_it_is_remembered_by_the_program() {
        let guard = Guard::new(None);
        guard.remember("one").unwrap();
        assert_eq!(guard.remembered().unwrap(), ["one"]);
    }

    #[test]
    fn what_a_witness_has_shown_counts_until_the_database_goes_on_from_it() {
        let guard = Guard::new(None);
        guard.note_shown("longer");
        guard.note_shown("longer");
        assert_eq!(guard.remembered().unwrap(), ["longer"]);
        guard.remember("longest").unwrap();
        assert_eq!(guard.remembered().unwrap(), ["longest"]);
    }
}
