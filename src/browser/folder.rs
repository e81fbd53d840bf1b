use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::mkdtemp;

use super::arguments::PREFERENCES;
use super::guard::Guard;
use super::processes;
use super::user::{BrowserUser, is_open_to_all};

/// Maximum length of the parent folder's path, in bytes. The path of the socket that Chromium creates in a profile is
/// up to 73 bytes longer, and must not exceed 107 bytes.
const MAX_PARENT: usize = 26;

/// A file system in memory. A browser syncs a new profile some hundred times, which would delay a database on the same
/// disk.
const IN_MEMORY: &str = "/dev/shm";
const ROOM: u64 = 2 << 30;

/// A folder that is removed, with its processes, when dropped or, by its [`Guard`], when this program is killed.
pub struct RunFolder {
    path: PathBuf,
    user: Option<BrowserUser>,
    _guard: Guard,
}

impl RunFolder {
    pub fn create() -> Result<Self, String> {
        let user = BrowserUser::find()?;
        let named = std::env::var_os("TMPDIR").map(PathBuf::from);
        let in_memory = PathBuf::from(IN_MEMORY);
        let in_memory = has_room(&in_memory).then_some(in_memory);
        let others = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
        let mut candidates = named.into_iter().chain(in_memory).chain(others);
        let usable = |folder: &PathBuf| {
            folder.as_os_str().len() <= MAX_PARENT && (user.is_none() || is_open_to_all(folder))
        };
        let parent = candidates.find(usable).ok_or("there is no folder for profiles")?;
        let cannot = |error: &dyn std::fmt::Display| {
            format!("a folder for profiles cannot be made in {}: {error}", parent.display())
        };
        let path = mkdtemp(&parent.join("assent-watch-XXXXXX")).map_err(|error| cannot(&error))?;
        let guarded = guarded(&path, user.is_some()).inspect_err(|_| {
            let _ = fs::remove_dir(&path);
        });
        let (path, guard) = guarded.map_err(|error| cannot(&error))?;
        Ok(Self { path, user, _guard: guard })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn user(&self) -> Option<BrowserUser> {
        self.user
    }

    /// Creates a folder that belongs to the browser's user, with preferences.
    pub fn profile(&self, name: &str) -> io::Result<PathBuf> {
        let profile = self.path.join(name);
        fs::DirBuilder::new().mode(0o700).create(&profile)?;
        let [temporary, default] = ["tmp", "Default"].map(|folder| profile.join(folder));
        fs::create_dir(&temporary)?;
        fs::create_dir(&default)?;
        let preferences = default.join("Preferences");
        fs::write(&preferences, PREFERENCES)?;
        if let Some(user) = self.user {
            for path in [&profile, &temporary, &default, &preferences] {
                user.own(path)?;
            }
        }
        Ok(profile)
    }
}

/// The canonical path of a new folder, and its guard.
fn guarded(path: &Path, is_shared: bool) -> io::Result<(PathBuf, Guard)> {
    let path = fs::canonicalize(path)?;
    if is_shared {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o711))?;
    }
    let guard = Guard::start(&path)?;
    Ok((path, guard))
}

/// Whether a folder has enough space for profiles, is writable, and allows executing programs.
#[cfg(target_os = "linux")]
fn has_room(folder: &Path) -> bool {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    let fits = statvfs(folder).is_ok_and(|found| {
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        free >= ROOM && !found.f_flag.contains(StatVfsMountFlags::NOEXEC)
    });
    fits && access(folder, Access::WRITE_OK).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn has_room(_: &Path) -> bool {
    false
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        processes::clear(&self.path);
    }
}
