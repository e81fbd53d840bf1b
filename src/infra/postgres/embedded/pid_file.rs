use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::Pid;

pub(super) struct PidFile {
    /// `None` if a crash of the machine left the file empty.
    pub(super) pid: Option<Pid>,
    pub(super) ready: bool,
    text: String,
}

impl PidFile {
    pub(super) fn path(data: &Path) -> PathBuf {
        data.join("postmaster.pid")
    }

    pub(super) fn read(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(Self::path(data)).ok()?;
        let mut lines = text.lines().map(str::trim);
        let pid = lines.next().and_then(|pid| pid.parse().ok()).map(Pid::from_raw);
        let ready = lines.nth(6) == Some("ready");
        Some(Self { pid, ready, text })
    }

    /// Replaces the pid in the file with the pid of this process. Another process may have the old
    /// pid now, and PostgreSQL would mistake it for a running server, but it ignores the pid of its
    /// parent, which is this process. Removing the file would lose the shared memory key, by which
    /// PostgreSQL detects sessions that outlived their server.
    pub(super) fn take_over(&self, data: &Path) -> io::Result<()> {
        let rest = self.text.find('\n').map_or("\n", |end| &self.text[end..]);
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            // The folder belongs to another user if this process is root.
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(Self::path(data))?;
        write!(file, "{}{rest}", std::process::id())
    }
}
