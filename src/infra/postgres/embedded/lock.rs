use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::data_location::DataLocation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A service keeps the server running, so commands may use the server too.
    Service,
    Command,
}

impl Purpose {
    fn word(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Command => "command",
        }
    }
}

/// A file lock, held until it is dropped. The kernel releases it when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

#[derive(Debug)]
pub(super) struct GrantCaller {
    text: String,
}

pub(super) enum Attempt {
    Taken(Lock),
    HeldBy(GrantCaller),
}

impl Lock {
    pub(super) fn take(location: &DataLocation, purpose: Purpose) -> io::Result<Attempt> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(location.lock())?;
        match file.try_lock() {
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                return Ok(Attempt::HeldBy(GrantCaller { text }));
            }
            Ok(()) => {}
        }
        location.give_to_owner_of_home(&file)?;
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{} {}", std::process::id(), purpose.word())?;
        Ok(Attempt::Taken(Self { _file: file }))
    }
}

impl GrantCaller {
    pub(super) fn pid(&self) -> Option<i32> {
        self.text.split_whitespace().next()?.parse().ok()
    }

    pub(super) fn is_service(&self) -> bool {
        self.text.split_whitespace().nth(1) == Some(Purpose::Service.word())
    }
}
