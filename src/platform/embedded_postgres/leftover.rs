//! What a killed service leaves behind: a server that still runs, or the files of a dead one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use super::EmbeddedPostgresError;
use super::place::Place;
use super::server::{FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN, PATIENCE_TO_STOP, PAUSE, Silence};

/// Ends a server that outlived its service, and sees to it that files it left behind do not stop
/// the next one. The caller holds the lock, so no living service needs that server.
pub(super) async fn end_leftover(place: &Place) -> Result<(), EmbeddedPostgresError> {
    if let Some(file) = PidFile::read(place) {
        match file.pid.filter(|&pid| serves(pid, &place.data())) {
            Some(pid) => end(pid, place).await?,
            None => file
                .disown(place)
                .map_err(EmbeddedPostgresError::io("clean up", &PidFile::path(place)))?,
        }
    }
    remove_sockets(place).map_err(EmbeddedPostgresError::io("clean up", place.socket()))
}

/// The socket's own lock file holds the number of the dead server too.
fn remove_sockets(place: &Place) -> io::Result<()> {
    for entry in fs::read_dir(place.socket())? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

async fn end(pid: Pid, place: &Place) -> Result<(), EmbeddedPostgresError> {
    tracing::info!(pid = pid.as_raw(), "ending the PostgreSQL of a service that was killed");
    match kill(pid, FAST_SHUTDOWN) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => {
            let io = EmbeddedPostgresError::io("stop the PostgreSQL of", place.home());
            return Err(io(errno.into()));
        }
    }
    let cut_off = Instant::now() + PATIENCE_TO_STOP;
    let mut silence = Silence::new();
    while serves(pid, &place.data()) {
        if Instant::now() > cut_off {
            let _ = kill(pid, IMMEDIATE_SHUTDOWN);
        }
        silence.speak("waiting for the PostgreSQL of a service that was killed to stop");
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Whether `pid` is the main process of a server on `data`. The command line tells, which every
/// user may read; the working folder would be hidden from the root of many a container.
fn serves(pid: Pid, data: &Path) -> bool {
    let with_data = [b"-D ", data.as_os_str().as_bytes(), b" -c "].concat();
    command_line(pid).windows(with_data.len()).any(|part| part == with_data)
}

/// The arguments with blanks between them; nothing for a process that is gone.
fn command_line(pid: Pid) -> Vec<u8> {
    if Path::new("/proc/self/cmdline").exists() {
        let mut arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        return arguments;
    }
    let ps = Command::new("ps").args(["-ww", "-o", "command=", "-p", &pid.to_string()]).output();
    ps.map(|output| output.stdout).unwrap_or_default()
}

/// What a server writes into its data folder about itself.
pub(super) struct PidFile {
    /// `None` when a crash of the machine left the file empty.
    pub(super) pid: Option<Pid>,
    pub(super) ready: bool,
    text: String,
}

impl PidFile {
    fn path(place: &Place) -> PathBuf {
        place.data().join("postmaster.pid")
    }

    pub(super) fn read(place: &Place) -> Option<Self> {
        let text = fs::read_to_string(Self::path(place)).ok()?;
        let mut lines = text.lines().map(str::trim);
        let pid = lines.next().and_then(|pid| pid.parse().ok()).map(Pid::from_raw);
        let ready = lines.nth(6) == Some("ready");
        Some(Self { pid, ready, text })
    }

    /// Another process may have the number by now (or none has reaped the dead server), and
    /// PostgreSQL would take it for a running server and refuse to start. It ignores the number
    /// of its own parent, which we are about to be. Removing the file instead would also remove
    /// the key of the shared memory in it, by which PostgreSQL notices sessions that outlived
    /// their server.
    fn disown(&self, place: &Place) -> io::Result<()> {
        let rest = self.text.find('\n').map_or("\n", |end| &self.text[end..]);
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            // The folder belongs to another user when we are root.
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(Self::path(place))?;
        write!(file, "{}{rest}", std::process::id())
    }
}
