//! The user account under which the browser runs: never root.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use nix::unistd::{User, geteuid};

/// The unprivileged user of the browser, when watch itself is run by root.
#[derive(Clone, Copy, Debug)]
pub struct BrowserUser {
    pub uid: u32,
    pub gid: u32,
}

impl BrowserUser {
    /// `Ok(None)` if watch is not run by root; the browser then runs as the same user.
    pub fn find() -> Result<Option<Self>, String> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let found = User::from_name("nobody").ok().flatten();
        let user = found.ok_or("root may not run a browser, and there is no user nobody")?;
        Ok(Some(Self { uid: user.uid.as_raw(), gid: user.gid.as_raw() }))
    }

    pub fn own(self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }
}

pub fn is_open_to_all(folder: &Path) -> bool {
    folder.ancestors().all(|part| {
        part.as_os_str().is_empty()
            || fs::metadata(part).is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
    })
}
