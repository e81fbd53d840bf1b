//! One running service per folder of data.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::EmbeddedPostgresError;
use super::place::Place;

/// Held as long as this value lives. The kernel gives it back when the process dies, however it
/// dies, so a left-over file never locks anybody out.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// # Errors
    /// [`EmbeddedPostgresError::InUse`] while another process holds it.
    pub(super) fn take(place: &Place) -> Result<Self, EmbeddedPostgresError> {
        let path = place.home().join("lock");
        let io = EmbeddedPostgresError::io("lock", &path);
        let mut file = match OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
        {
            Ok(file) => file,
            Err(error) => return Err(io(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(EmbeddedPostgresError::InUse {
                    home: place.home().to_owned(),
                    pid: holder(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        place.give_to_owner_of_home(&file).and_then(|()| write_holder(&mut file)).map_err(io)?;
        Ok(Self { _file: file })
    }
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
