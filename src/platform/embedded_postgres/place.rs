//! Where the data lie, whose they are, and where the socket is.
//!
//! ```text
//! <data dir>/postgres/     or a link to /var/lib/assent/<name>/
//!     lock                 held by the process that runs the server
//!     postgres.log         what the server says; never statements or values
//!     data/                the cluster, of the user the server runs as
//!     socket/              the same user's, mode 0700
//! ```

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, fchown, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, getegid, geteuid};
use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::EmbeddedPostgresError;
use super::programs::Programs;

/// Where the data of a service that root starts in a closed folder lie.
const SHARED_STATE: &str = "/var/lib/assent";
/// The port is only a part of the socket's name: each cluster has a folder of its own.
const PORT: u16 = 5432;
/// In bytes; Linux would take 107.
const LONGEST_SOCKET_PATH: usize = 103;

/// Root's folder lets the server's user through to its own folders inside.
const ENTERED_BY_SERVER: u32 = 0o711;

#[derive(Debug, Clone, Copy)]
struct Owner {
    uid: u32,
    gid: u32,
}

/// A folder for one cluster, ready to be used.
#[derive(Debug)]
pub(super) struct Place {
    home: PathBuf,
    socket: PathBuf,
    owner: Owner,
}

impl Place {
    /// The place that `data_dir` has, or a new one.
    pub(super) fn find_or_create(
        data_dir: &Path,
        programs: &Programs,
    ) -> Result<Self, EmbeddedPostgresError> {
        let data_dir = create_data_dir(data_dir)?;
        // Two first starts at once must agree on one place.
        let _alone = locked(&data_dir).map_err(EmbeddedPostgresError::io("lock", &data_dir))?;
        let entry = data_dir.join("postgres");
        let (home, owner) = match entry.canonicalize() {
            Ok(home) => {
                let owner = owner_of_data(&home)?;
                (home, owner)
            }
            Err(_) if entry.is_symlink() => {
                return Err(EmbeddedPostgresError::LostData { link: entry });
            }
            Err(_) => {
                let owner = owner_of_new_data()?;
                let io = EmbeddedPostgresError::io("create the folder", &entry);
                (create_home(&data_dir, &entry, owner, programs).map_err(io)?, owner)
            }
        };
        if !geteuid().is_root() && geteuid().as_raw() != owner.uid {
            return Err(EmbeddedPostgresError::OtherOwner { home, uid: owner.uid });
        }
        if !may_enter(owner, &home, programs) {
            return Err(EmbeddedPostgresError::Unreachable { home, uid: owner.uid });
        }
        let socket = socket_folder(&home, owner)?;
        Ok(Self { home, socket, owner })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.home.join("lock")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.home.join("postgres.log")
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(super) fn port(&self) -> u16 {
        PORT
    }

    /// No TLS on a socket of one's own, whatever `PGSSLMODE` asks for.
    pub(super) fn url(&self, user: &str, database: &str) -> String {
        format!(
            "postgres://{user}@localhost:{PORT}/{database}?host={}&sslmode=disable",
            percent_encoded(&self.socket)
        )
    }

    /// A command that runs as the user of the data, away from the terminal's signals, and that
    /// knows nothing of the service's environment.
    pub(super) fn command(&self, program: &Path) -> Command {
        command_as(self.owner, program, Path::new("/"))
    }

    /// A socket's folder outside of [`home`](Self::home) is there while the server runs only.
    pub(super) fn leave_no_socket(&self) {
        if !self.socket.starts_with(&self.home) {
            let _ = fs::remove_dir(&self.socket);
        }
    }

    /// Creates an empty folder of mode 0700 in [`home`](Self::home) for the server's user.
    pub(super) fn create_folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.home.join(name);
        create_owned(&folder, self.owner)?;
        Ok(folder)
    }

    /// What root makes in an ordinary user's folder is that user's, who may start the service next.
    pub(super) fn give_to_owner_of_home(&self, file: &File) -> io::Result<()> {
        let home = fs::metadata(&self.home)?;
        if geteuid().is_root() {
            fchown(file, Some(home.uid()), Some(home.gid()))?;
        }
        Ok(())
    }
}

fn create_data_dir(data_dir: &Path) -> Result<PathBuf, EmbeddedPostgresError> {
    fs::create_dir_all(data_dir)
        .and_then(|()| data_dir.canonicalize())
        .map_err(EmbeddedPostgresError::io("create the folder", data_dir))
}

fn locked(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

/// Whoever made the data, also when root starts the service today.
fn owner_of_data(home: &Path) -> Result<Owner, EmbeddedPostgresError> {
    let found = match fs::metadata(home.join("data")) {
        Err(error) if error.kind() == ErrorKind::NotFound => fs::metadata(home),
        found => found,
    };
    let found = found.map_err(EmbeddedPostgresError::io("open", home))?;
    if found.uid() == 0 {
        return owner_of_new_data();
    }
    Ok(Owner { uid: found.uid(), gid: found.gid() })
}

fn owner_of_new_data() -> Result<Owner, EmbeddedPostgresError> {
    if !geteuid().is_root() {
        return Ok(Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() });
    }
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .map(|user| Owner { uid: user.uid.as_raw(), gid: user.gid.as_raw() })
        .ok_or(EmbeddedPostgresError::NoServerUser)
}

fn create_home(
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

/// Data without a link to them are another folder's, or this one's before somebody emptied it:
/// they are left alone, and the new ones get the next free name.
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
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let readable: String = words.join("-").chars().take(30).collect();
    format!("{readable}-{}", short_hash(entry))
}

fn short_hash(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    hex::encode(&digest[..4])
}

/// Asks the kernel, which also knows access lists: can `owner` run the programs from there?
fn may_enter(owner: Owner, folder: &Path, programs: &Programs) -> bool {
    let mut command = command_as(owner, &programs.postgres(), folder).into_std();
    command.arg("--version").stdout(std::process::Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn command_as(owner: Owner, program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        // The terminal's Ctrl-C reaches the service only, which still needs its database while it
        // finishes what is in flight.
        .process_group(0);
    if geteuid() != Uid::from_raw(owner.uid) {
        command.uid(owner.uid).gid(owner.gid);
    }
    command
}

/// In the place itself, or, where its path is too long for a socket, in a folder with a short one.
fn socket_folder(home: &Path, owner: Owner) -> Result<PathBuf, EmbeddedPostgresError> {
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
    // Anybody may create anything in /tmp, so a folder that was there already must prove itself.
    let found =
        fs::symlink_metadata(&folder).map_err(EmbeddedPostgresError::io("open", &folder))?;
    if !found.is_dir() || found.uid() != owner.uid || found.mode() & 0o077 != 0 {
        return Err(EmbeddedPostgresError::ForeignSocketFolder { folder });
    }
    Ok(folder)
}

fn create_owned(folder: &Path, owner: Owner) -> io::Result<()> {
    create_with_mode(folder, 0o700)?;
    if geteuid().as_raw() != owner.uid {
        chown(folder, Some(owner.uid), Some(owner.gid))?;
    }
    Ok(())
}

/// Exactly this mode, whatever the umask.
fn create_with_mode(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

fn percent_encoded(path: &Path) -> String {
    path.as_os_str()
        .as_bytes()
        .iter()
        .map(|&byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_short_and_tell_folders_apart() {
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

    #[test]
    fn a_path_too_long_for_a_socket_gets_a_short_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("x".repeat(120));
        fs::create_dir(&home).unwrap();
        let owner = Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() };
        let socket = socket_folder(&home, owner).unwrap();
        assert!(socket.as_os_str().len() < 80, "{}", socket.display());
        assert!(socket_folder(&home, owner).is_ok(), "a second start finds it again");
        fs::set_permissions(&socket, Permissions::from_mode(0o755)).unwrap();
        let open_to_all = socket_folder(&home, owner);
        fs::remove_dir(&socket).unwrap();
        assert!(matches!(open_to_all, Err(EmbeddedPostgresError::ForeignSocketFolder { .. })));
    }

    #[test]
    fn odd_letters_in_a_path_survive_in_the_address() {
        assert_eq!(percent_encoded(Path::new("/srv/a b/ü?&%")), "%2Fsrv%2Fa%20b%2F%C3%BC%3F%26%25");
    }
}
