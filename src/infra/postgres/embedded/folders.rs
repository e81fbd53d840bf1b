use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

use super::owner::{Owner, may_enter};
use super::programs::Programs;

/// Parent of the data folders of services that root starts in a folder which other users cannot enter.
const SHARED_STATE: &str = "/var/lib/assent";

/// The mode of root's folder, which lets the server's user reach its own folders inside.
const ENTERED_BY_SERVER: u32 = 0o711;

pub(super) fn create_home(
    data_dir: &Path,
    entry: &Path,
    owner: Owner,
    programs: &Programs,
) -> io::Result<PathBuf> {
    if !geteuid().is_root() {
        create_with_mode(entry, 0o700)?;
        return Ok(entry.to_owned());
    }
    if may_enter(owner, data_dir, programs) {
        create_with_mode(entry, ENTERED_BY_SERVER)?;
        return Ok(entry.to_owned());
    }
    let shared = Path::new(SHARED_STATE);
    match create_with_mode(shared, 0o755) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let home = create_under_free_name(shared, &name_for(entry))?;
    symlink(&home, entry)?;
    Ok(home)
}

/// Creates a folder under an unused name. Existing data are kept: they belong to another or an earlier folder.
fn create_under_free_name(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let mut attempt = 1;
    loop {
        let home = match attempt {
            1 => folder.join(name),
            _ => folder.join(format!("{name}-{attempt}")),
        };
        match create_with_mode(&home, ENTERED_BY_SERVER) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(error),
            Ok(()) => return Ok(home),
        }
    }
}

/// `/root/my shop/.data/postgres` becomes `root-my-shop-1f0c9a2b`: readable, short, unambiguous.
fn name_for(entry: &Path) -> String {
    let folder = entry
        .parent()
        .filter(|data_dir| data_dir.ends_with(".data"))
        .and_then(Path::parent)
        .unwrap_or(entry);
    let words: Vec<String> = folder
        .to_string_lossy()
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let readable: String = words.join("-").chars().take(30).collect();
    format!("{readable}-{}", short_hash(entry))
}

pub(super) fn short_hash(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    hex::encode(&digest[..4])
}

pub(super) fn create_owned(folder: &Path, owner: Owner) -> io::Result<()> {
    create_with_mode(folder, 0o700)?;
    if geteuid().as_raw() != owner.uid {
        chown(folder, Some(owner.uid), Some(owner.gid))?;
    }
    Ok(())
}

fn create_with_mode(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_short_and_differ_between_folders() {
        let name = name_for(Path::new("/root/My Shop/.data/postgres"));
        assert!(name.starts_with("root-my-shop-"), "{name}");
        let long = name_for(Path::new(&format!("/root/{}/.data/postgres", "x".repeat(200))));
        assert!(long.len() <= 39, "{long}");
        assert_ne!(
            name_for(Path::new("/root/a-b/.data/postgres")),
            name_for(Path::new("/root/a/b/.data/postgres"))
        );
    }

    #[test]
    fn data_that_nothing_links_to_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = create_under_free_name(folder.path(), "shop").unwrap();
        let second = create_under_free_name(folder.path(), "shop").unwrap();
        assert_eq!(first, folder.path().join("shop"));
        assert_eq!(second, folder.path().join("shop-2"));
    }
}
