//! Paths and owners of the data and of the socket.
//!
//! ```text
//! <data dir>/postgres/     or a link to /var/lib/assent/<name>/
//!     lock                 held by the process that runs the server
//!     postgres.log         messages of the server, without statements and values
//!     data/                the cluster, owned by the user that the server runs as
//!     socket/              owned by the same user, mode 0700
//! ```

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tokio::process::Command;

use super::error::EmbeddedPostgresError;
use super::folders::{create_home, create_owned};
use super::owner::{Owner, command_as, may_enter, owner_of_data, owner_of_new_data};
use super::programs::Programs;
use super::socket::{PORT, percent_encoded, socket_folder};

#[derive(Debug)]
pub(super) struct DataLocation {
    home: PathBuf,
    socket: PathBuf,
    owner: Owner,
}

impl DataLocation {
    pub(super) fn find_or_create(
        data_dir: &Path,
        programs: &Programs,
    ) -> Result<Self, EmbeddedPostgresError> {
        let data_dir = create_data_dir(data_dir)?;
        // The lock makes two simultaneous first starts use the same folder.
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

    /// The connection URL. It disables TLS, which a private socket does not need, regardless of `PGSSLMODE`.
    pub(super) fn url(&self, user: &str, database: &str) -> String {
        format!(
            "postgres://{user}@localhost:{PORT}/{database}?host={}&sslmode=disable",
            percent_encoded(&self.socket)
        )
    }

    /// A command that runs as the owner of the data, without the terminal's signals and environment.
    pub(super) fn command(&self, program: &Path) -> Command {
        command_as(self.owner, program, Path::new("/"))
    }

    /// Removes the socket folder if it is outside of [`home`](Self::home): it is needed only while the server runs.
    pub(super) fn leave_no_socket(&self) {
        if !self.socket.starts_with(&self.home) {
            let _ = fs::remove_dir(&self.socket);
        }
    }

    pub(super) fn create_folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.home.join(name);
        create_owned(&folder, self.owner)?;
        Ok(folder)
    }

    /// Gives a file to the owner of the folder if root created it, because that user may start the service next.
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
