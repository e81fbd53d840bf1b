use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::error::EmbeddedPostgresError;
use super::folders::{create_owned, short_hash};
use super::owner::Owner;

/// The port is only a part of the socket's file name, and the same for all clusters, which have separate folders.
pub(super) const PORT: u16 = 5432;

/// In bytes; Linux would accept 107.
const LONGEST_SOCKET_PATH: usize = 103;

/// Creates the socket folder in `home`, or in `/tmp` if the path would be too long for a socket.
pub(super) fn socket_folder(home: &Path, owner: Owner) -> Result<PathBuf, EmbeddedPostgresError> {
    let inside = home.join("socket");
    let socket = inside.join(format!(".s.PGSQL.{PORT}"));
    let folder = if socket.as_os_str().len() <= LONGEST_SOCKET_PATH {
        inside
    } else {
        PathBuf::from(format!("/tmp/assent-{}-{}", owner.uid, short_hash(home)))
    };
    match create_owned(&folder, owner) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        created => created.map_err(EmbeddedPostgresError::io("create the folder", &folder))?,
    }
    // Anybody may create anything in /tmp, so an existing folder must be verified.
    let found =
        fs::symlink_metadata(&folder).map_err(EmbeddedPostgresError::io("open", &folder))?;
    if !found.is_dir() || found.uid() != owner.uid || found.mode() & 0o077 != 0 {
        return Err(EmbeddedPostgresError::ForeignSocketFolder { folder });
    }
    Ok(folder)
}

pub(super) fn percent_encoded(path: &Path) -> String {
    const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    percent_encode(path.as_os_str().as_bytes(), &ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use nix::unistd::{getegid, geteuid};

    use super::*;

    #[test]
    fn a_path_too_long_for_a_socket_gets_a_short_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("x".repeat(120));
        fs::create_dir(&home).unwrap();
        let owner = Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() };
        let socket = socket_folder(&home, owner).unwrap();
        assert!(socket.as_os_str().len() < 80, "{}", socket.display());
        assert!(socket_folder(&home, owner).is_ok(), "a second start finds it again");
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o755)).unwrap();
        let open_to_all = socket_folder(&home, owner);
        fs::remove_dir(&socket).unwrap();
        assert!(matches!(open_to_all, Err(EmbeddedPostgresError::ForeignSocketFolder { .. })));
    }

    #[test]
    fn odd_letters_in_a_path_survive_in_the_address() {
        assert_eq!(percent_encoded(Path::new("/srv/a b/ü?&%")), "%2Fsrv%2Fa%20b%2F%C3%BC%3F%26%25");
    }
}
