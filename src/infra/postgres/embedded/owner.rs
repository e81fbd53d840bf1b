//! The user that the server runs as: the owner of the data.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use nix::unistd::{Uid, User, getegid, geteuid};
use tokio::process::Command;

use super::error::EmbeddedPostgresError;
use super::programs::Programs;

#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

pub(super) fn owner_of_data(home: &Path) -> Result<Owner, EmbeddedPostgresError> {
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

pub(super) fn owner_of_new_data() -> Result<Owner, EmbeddedPostgresError> {
    if !geteuid().is_root() {
        return Ok(Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() });
    }
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .map(|user| Owner { uid: user.uid.as_raw(), gid: user.gid.as_raw() })
        .ok_or(EmbeddedPostgresError::NoServerUser)
}

/// Whether `owner` can run a program with `folder` as its working directory. Tries it, because
/// permissions may depend on access control lists.
pub(super) fn may_enter(owner: Owner, folder: &Path, programs: &Programs) -> bool {
    let mut command = command_as(owner, &programs.postgres(), folder).into_std();
    command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(super) fn command_as(owner: Owner, program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdin(Stdio::null())
        // Ctrl-C must reach only the service, which still needs its database to finish requests.
        .process_group(0);
    if geteuid() != Uid::from_raw(owner.uid) {
        command.uid(owner.uid).gid(owner.gid);
    }
    command
}
