//! The processes of a browser, found by the folder in their arguments or environment.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

const ROUNDS: u32 = 100;
const ROUND: Duration = Duration::from_millis(20);

/// The processes in `/proc` whose arguments or environment name a path in the folder, except this one and its guard.
/// Empty on systems without `/proc`.
pub fn in_folder(folder: &Path) -> Vec<Pid> {
    let mut needle = folder.as_os_str().as_bytes().to_owned();
    needle.push(b'/');
    let own = getpid();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let ids = ids.map(Pid::from_raw).filter(|&id| id != own);
    ids.filter(|id| {
        ["cmdline", "environ"].iter().any(|file| {
            fs::read(format!("/proc/{id}/{file}")).is_ok_and(|text| contains(&text, &needle))
        })
    })
    .collect()
}

/// The memory of processes in bytes, without file-backed memory. Zero on systems without `/proc`.
pub fn memory(processes: &[Pid]) -> u64 {
    let used = processes.iter().map(|id| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let sizes = status.lines().filter_map(|line| line.split_once(':'));
        let sizes = sizes.filter(|(name, _)| matches!(*name, "RssAnon" | "RssShmem"));
        let sizes =
            sizes.filter_map(|(_, size)| size.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        sizes.sum::<u64>() << 10
    });
    used.sum()
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|part| part == needle)
}

/// Kills the processes in a folder until none is left, for two seconds at most.
pub fn kill_all_in(folder: &Path) {
    for _ in 0..ROUNDS {
        let left = in_folder(folder);
        if left.is_empty() {
            return;
        }
        for id in left {
            let _ = kill(id, Signal::SIGKILL);
        }
        sleep(ROUND);
    }
}

/// Kills the processes in a folder, and removes the folder.
pub fn clear(folder: &Path) {
    kill_all_in(folder);
    // A process that was just killed may still have created a file.
    for _ in 0..5 {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => kill_all_in(folder),
            _ => return,
        }
    }
}
