//! Cleanup after a killed service: a server that still runs, or the files of a dead one.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use super::data_location::DataLocation;
use super::error::EmbeddedPostgresError;
use super::pid_file::PidFile;
use super::stopping::{FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN, LongWait, PAUSE, STOP_TIMEOUT};

/// Stops a server that outlived its service, and removes its files. The caller holds the lock, so
/// no running service uses the server.
pub(super) async fn end_leftover(location: &DataLocation) -> Result<(), EmbeddedPostgresError> {
    let data = location.data();
    if let Some(file) = PidFile::read(&data) {
        match file.pid.filter(|&pid| serves(pid, &data)) {
            Some(pid) => end(pid, location).await?,
            None => file
                .take_over(&data)
                .map_err(EmbeddedPostgresError::io("clean up", &PidFile::path(&data)))?,
        }
    }
    remove_sockets(location).map_err(EmbeddedPostgresError::io("clean up", location.socket()))
}

/// Removes all files in the socket folder, including the socket's lock file, which contains the dead server's pid.
fn remove_sockets(location: &DataLocation) -> io::Result<()> {
    for entry in fs::read_dir(location.socket())? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

async fn end(pid: Pid, location: &DataLocation) -> Result<(), EmbeddedPostgresError> {
    tracing::info!(pid = pid.as_raw(), "ending the PostgreSQL of a service that was killed");
    match kill(pid, FAST_SHUTDOWN) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => {
            let io = EmbeddedPostgresError::io("stop the PostgreSQL of", location.home());
            return Err(io(errno.into()));
        }
    }
    let cut_off = Instant::now() + STOP_TIMEOUT;
    let mut wait = LongWait::begin();
    while serves(pid, &location.data()) {
        if Instant::now() > cut_off {
            let _ = kill(pid, IMMEDIATE_SHUTDOWN);
        }
        wait.report("waiting for the PostgreSQL of a service that was killed to stop");
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Whether `pid` is the main process of a server on `data`, according to its command line, which every user may read.
fn serves(pid: Pid, data: &Path) -> bool {
    let with_data = [b"-D ", data.as_os_str().as_bytes(), b" -c "].concat();
    command_line(pid).windows(with_data.len()).any(|part| part == with_data)
}

fn command_line(pid: Pid) -> Vec<u8> {
    if Path::new("/proc/self/cmdline").exists() {
        let mut arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        return arguments;
    }
    let ps = Command::new("ps").args(["-ww", "-o", "command=", "-p", &pid.to_string()]).output();
    ps.map(|output| output.stdout).unwrap_or_default()
}
