//! The file (`LOG_STATE`) that stores the latest signed state outside the database. Nodes may share
//! one file. A lock file beside it is locked during writes, and contains a random id of the state
//! file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::files;
use super::pause::Pause;
use crate::types::ids::random_text;

const ID: usize = 20;

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub id: String,
    /// `None` when the file does not exist.
    pub note: Option<String>,
}

#[derive(Clone, Debug)]
pub struct StateFile(PathBuf);

impl StateFile {
    pub fn new(file: PathBuf) -> Self {
        Self(file)
    }

    pub fn name(&self) -> String {
        self.0.display().to_string()
    }

    /// Reads the file. It also fails where the file could not be written later, as on a read-only volume.
    pub fn read(&self) -> Result<Contents, Pause> {
        let (_lock, id) = self.lock()?;
        Ok(Contents { id, note: self.note()? })
    }

    /// Replaces the note and syncs it to disk. `false` when another node has written the file since `seen`.
    pub fn replace(&self, seen: Option<&str>, note: &str) -> Result<bool, Pause> {
        let (_lock, _) = self.lock()?;
        if self.note()?.as_deref() != seen {
            return Ok(false);
        }
        files::replace(&self.0, note).map_err(|error| self.unwritable(&error))?;
        Ok(true)
    }

    fn note(&self) -> Result<Option<String>, Pause> {
        files::read(&self.0).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Pause::Damaged { file: self.name() },
            _ => Pause::Unreadable { file: self.name(), problem: error.to_string() },
        })
    }

    /// Keeps other nodes from writing until the lock is dropped.
    fn lock(&self) -> Result<(Flock<File>, String), Pause> {
        let path = files::beside(&self.0, ".lock");
        let locking = || -> io::Result<_> {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(&path)?;
            let mut lock = lock_soon(file)?;
            let mut id = String::new();
            lock.read_to_string(&mut id)?;
            if id.len() != ID {
                id = random_text(ID);
                lock.set_len(0)?;
                io::Seek::rewind(&mut *lock)?;
                lock.write_all(id.as_bytes())?;
                lock.sync_all()?;
                files::sync_folder_of(&path)?;
            }
            Ok((lock, id))
        };
        locking().map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Pause {
        Pause::Unwritable { file: self.name(), problem: error.to_string() }
    }
}

/// Locks a file, waiting while another process holds the lock. A process that holds it for long is stuck.
fn lock_soon(mut file: File) -> io::Result<Flock<File>> {
    let begun = Instant::now();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, error)) if error != Errno::EAGAIN || begun.elapsed() > LOCK_TIMEOUT => {
                return Err(error.into());
            }
            Err((same, _)) => file = same,
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(folder: &tempfile::TempDir) -> StateFile {
        StateFile::new(folder.path().join("log-checkpoint"))
    }

    #[test]
    fn a_note_is_replaced_only_if_it_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (file(&folder), file(&folder));
        let empty = here.read().unwrap();
        assert_eq!((empty.id.len(), empty.note), (ID, None));
        assert!(here.replace(None, "one").unwrap());
        assert!(there.replace(Some("one"), "two").unwrap());
        assert!(!here.replace(Some("one"), "other").unwrap());
        assert_eq!(here.read().unwrap(), Contents { id: empty.id, note: Some("two".to_owned()) });
    }

    #[test]
    fn two_files_of_one_folder_do_not_touch_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str| StateFile::new(folder.path().join(name));
        assert!(named("log.one").replace(None, "one").unwrap());
        assert!(named("log.two").replace(None, "two").unwrap());
        assert_eq!(named("log.one").read().unwrap().note.as_deref(), Some("one"));
        assert_ne!(named("log.one").read().unwrap().id, named("log.two").read().unwrap().id);
    }

    #[test]
    fn a_file_that_is_not_text_is_damaged_and_not_missing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("log-checkpoint"), [0xff, 0xfe]).unwrap();
        assert!(matches!(file(&folder).read(), Err(Pause::Damaged { .. })));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_refused_before_anything_is_signed() {
        let folder = tempfile::tempdir().unwrap();
        let gone = StateFile::new(folder.path().join("gone/log-checkpoint"));
        assert!(matches!(gone.read(), Err(Pause::Unwritable { .. })));
        assert!(matches!(gone.replace(None, "one"), Err(Pause::Unwritable { .. })));
    }
}
