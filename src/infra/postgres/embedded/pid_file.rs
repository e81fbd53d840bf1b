//! The file that a server writes about itself.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::fcntl::OFlag;
use nix::unistd::Pid;

use super::place::Place;

/// What a server writes into its data folder about itself.
pub(super) struct PidFile {
    /// `None` when a crash of the machine left the file empty.
    pub(super) pid: Option<Pid>,
    pub(super) ready: bool,
    text: String,
}

impl PidFile {
    pub(super) fn path(place: &Place) -> PathBuf {
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
    pub(super) fn disown(&self, place: &Place) -> io::Result<()> {
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
