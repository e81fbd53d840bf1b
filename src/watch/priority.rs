//! The lowest priority, for work that a node does beside its own.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::unistd::{getpid, setsid};

const LOWEST: &str = "19";
/// Programs that change a process: its nice value, for machines without the next one; to `SCHED_IDLE`; and to the
/// idle class of input and output.
const CHANGES: [(&str, &[&str]); 3] = [
    ("renice", &["-n", LOWEST, "-p"]),
    ("chrt", &["-i", "-p", "0"]),
    ("ionice", &["-c", "3", "-p"]),
];
/// Linux permits a user without privileges one change of a session in a tenth of a second.
const PAUSE: Duration = Duration::from_millis(110);
const ATTEMPTS: u32 = 10;

/// Gives this process the lowest priority, and a session of its own. The processes and threads that it starts
/// later inherit both. What the machine does not permit or does not have is left out.
pub fn lower_priority() {
    // SCHED_IDLE gives way only within its session where Linux divides the processors among sessions
    // (`sched_autogroup_enabled`), and PostgreSQL is in another one.
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
