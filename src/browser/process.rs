use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::arguments::{Extra, arguments};
use super::folder::RunFolder;
use super::output;
use super::processes;
use super::program::Program;
use crate::browser::devtools::{CallError, Connection, Events};
use crate::browser::net_log;

const START: Duration = Duration::from_secs(50);
/// Long, because a browser on a busy machine exits slowly.
const END: Duration = Duration::from_secs(12);
/// The process that writes the network log ends after the browser.
const LOG_END: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);

/// The protocol uses file descriptors 3 and 4. When memory runs out, the kernel kills the browser first.
const LAUNCH: &str = "ulimit -c 0; ulimit -f 1048576; \
    { echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; \
    exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// Environment variables whose names contain one of these texts are not passed to the browser.
const SECRET: [&str; 8] =
    ["KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL", "DATABASE", "SMTP", "TIMESTAMP_URL"];

pub enum StartError {
    /// The machine provides no sandbox.
    NoSandbox,
    Other(String),
}

/// A running browser, which is killed when dropped.
pub struct Browser {
    child: Child,
    group: Option<Pid>,
    profile: PathBuf,
    pub connection: Connection,
    /// The product and its version, such as `Chrome/120.0.6099.109`.
    pub version: String,
}

impl Browser {
    /// Starts a browser with a profile and waits for its first answer.
    pub async fn start(
        program: &Program,
        folder: &RunFolder,
        profile: &Path,
        extra: Extra,
    ) -> Result<(Self, Events), StartError> {
        let errors = profile.join("stderr");
        let mut command = command(program, folder, profile, extra);
        let log = std::fs::File::create(&errors);
        command.stderr(log.map_or_else(|_| Stdio::null(), Stdio::from));
        let other = |problem: String| StartError::Other(problem);
        let started = command.spawn();
        let mut child =
            started.map_err(|error| other(format!("{}: {error}", program.path().display())))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(other("the browser has no pipes".to_owned()));
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let (connection, events) = Connection::open(input, output);
        let mut browser =
            Self { child, group, profile: profile.to_owned(), connection, version: String::new() };
        match timeout(START, version(&browser.connection)).await {
            Ok(Some(answer)) => {
                browser.version = answer["product"].as_str().unwrap_or_default().to_owned();
                Ok((browser, events))
            }
            _ if output::lacks_sandbox(&output::read(&errors)) && !extra.no_sandbox => {
                Err(StartError::NoSandbox)
            }
            _ => Err(other(format!("{} did not start as a browser", program.path().display()))),
        }
    }

    /// Closes the browser, so that it completes its network log, or kills it.
    pub async fn close(mut self) {
        self.connection.post(None, "Browser.close", serde_json::json!({}));
        if timeout(END, self.child.wait()).await.is_err() {
            return;
        }
        let log = log_file(&self.profile);
        let completing = async {
            while !net_log::is_closed(&log) {
                sleep(STEP).await;
            }
        };
        let _ = timeout(LOG_END, completing).await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = killpg(group, Signal::SIGKILL);
        }
        processes::kill_all_in(&self.profile);
    }
}

/// The network log of a profile's browser.
pub fn log_file(profile: &Path) -> PathBuf {
    profile.join("net.json")
}

/// The first answer of a browser. Calls are repeated, because it starts slowly on a busy machine. `None` if it ended.
async fn version(connection: &Connection) -> Option<serde_json::Value> {
    loop {
        match connection.call(None, "Browser.getVersion", serde_json::json!({})).await {
            Ok(answer) => return Some(answer),
            Err(CallError::Timeout(_)) => {}
            Err(_) => return None,
        }
    }
}

fn command(program: &Program, folder: &RunFolder, profile: &Path, extra: Extra) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", LAUNCH, "sh"]).arg(program.path());
    command.args(arguments(profile, &log_file(profile), extra));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_ascii_uppercase();
        if SECRET.iter().any(|part| text.contains(part)) {
            command.env_remove(&name);
        }
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        command.env(name, profile);
    }
    command.env("TMPDIR", profile.join("tmp"));
    command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:").env("CHROME_HEADLESS", "1");
    command.current_dir(profile).kill_on_drop(true).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(user) = folder.user() {
        command.uid(user.uid).gid(user.gid);
    }
    command
}
