//! Runs this program in a separate process, which has no access to the secrets of this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::unistd::mkdtemp;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::browser::guard::program;
use crate::infra::shutdown::Shutdown;

const POLL: Duration = Duration::from_millis(250);
/// Environment variables that a run inherits from this process.
const KEPT: [&str; 2] = ["PATH", "TMPDIR"];

#[derive(Debug)]
pub enum RunError {
    /// The run was stopped because the service shuts down.
    Shutdown,
    Failed(String),
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

pub struct OutputFolder(PathBuf);

impl OutputFolder {
    pub fn create() -> Result<Self, RunError> {
        let path = mkdtemp(&std::env::temp_dir().join("assent-report-XXXXXX"));
        path.map(Self).map_err(|error| RunError::Failed(error.to_string()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A command that runs this program with a minimal environment. The new process lowers its own priority.
pub fn own_command(browser: Option<&Path>) -> std::io::Result<Command> {
    let mut command = Command::new(program()?);
    command.env_clear().current_dir("/");
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let Some(browser) = browser {
        command.env("WATCH_BROWSER", browser);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // No process group is created here: the run starts a session, which a group leader cannot do.
    command.kill_on_drop(true);
    Ok(command)
}

/// Runs a command until it ends, for `limit` at most, or until the shutdown of the service.
pub async fn run_to_end(
    mut command: Command,
    limit: Duration,
    shutdown: &Shutdown,
) -> Result<ExitStatus, RunError> {
    let mut child = command.spawn()?;
    // The run ends when its input closes, even if this process is killed.
    let _input = child.stdin.take();
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if shutdown.has_begun() {
            return Err(RunError::Shutdown);
        }
        if Instant::now() > end {
            return Err(RunError::Failed("the run took too long".to_owned()));
        }
        sleep(POLL).await;
    }
}
