//! The lowest priority, for background work of a node.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::unistd::{getpid, setsid};

const LOWEST: &str = "19";
/// Programs that lower the priority of a process: its nice value, in case `SCHED_IDLE` is not available; `SCHED_IDLE`;
/// and the idle class of I/O scheduling.
const CHANGES: [(&str, &[&str]); 3] = [
    ("renice", &["-n", LOWEST, "-p"]),
    ("chrt", &["-i", "-p", "0"]),
    ("ionice", &["-c", "3", "-p"]),
];
/// Linux allows an unprivileged user to change the nice value of a session only once in a tenth of a second.
const PAUSE: Duration = Duration::from_millis(110);
const ATTEMPTS: u32 = 10;

/// Gives this process the lowest priority, and a session of its own. The processes and threads that it starts later
/// inherit both. Steps that the machine does not permit or support are skipped.
pub fn lower_priority() {
    // With `sched_autogroup_enabled`, Linux divides the processors among sessions. SCHED_IDLE then has an effect only
    // within its session, but PostgreSQL runs in another one.
    if setsid().is_ok() {
        lower_session();
    }
    let own = getpid().to_string();
    for (program, arguments) in CHANGES {
        let mut command = Command::new(program);
        command.args(arguments).arg(&own).stdin(Stdio::null());
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn lower_session() {
    for _ in 0..ATTEMPTS {
        match fs::write("/proc/self/autogroup", LOWEST) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(PAUSE),
            _ => return,
        }
    }
}
