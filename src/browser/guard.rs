//! A second process of this program, which ends the browsers of a run after the run itself was killed.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::SigSet;

use super::processes::clear;

pub const COMMAND: &str = "watch-guard";

/// Its standard input is a pipe that only this process holds, so it closes however this process ends.
pub struct Guard(Child);

impl Guard {
    pub fn start(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new(program()?);
        command.arg(COMMAND).arg(folder).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Self)
    }
}

/// The running program, even if its file has been replaced.
pub fn program() -> io::Result<PathBuf> {
    let linux = PathBuf::from("/proc/self/exe");
    if linux.exists() { Ok(linux) } else { std::env::current_exe() }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Waits until the program that started this one ends, then clears the folder. Blocks all signals.
pub fn guard(folder: &Path) {
    let _ = SigSet::all().thread_block();
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    clear(folder);
}
