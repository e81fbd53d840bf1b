//! A run of `assent watch` in a process of its own, which sees nothing of this one's secrets.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::mkdtemp;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::given::{GivenReport, MAX_REPORT};
use crate::infra::Infra;
use crate::pixels::pixel::Pixel;
use crate::proof::format::watch_report::JSON;
use crate::watch::report::NOTE;
use crate::watch::{ON_NODE, program};

/// The six visits of a page have 180 s, their repetitions 60 s.
const LIMIT: Duration = Duration::from_secs(330);
const POLL: Duration = Duration::from_millis(250);
/// Variables that the run needs of this process.
const KEPT: [&str; 2] = ["PATH", "TMPDIR"];

#[derive(Debug)]
pub enum RunError {
    /// The service ends, and with it the run.
    Shutdown,
    Failed(String),
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The folder of a report, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, RunError> {
        let path = mkdtemp(&std::env::temp_dir().join("assent-report-XXXXXX"));
        path.map(Self).map_err(|error| RunError::Failed(error.to_string()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Visits the home page of a pixel's site, and returns the report.
pub async fn run(
    infra: &Infra,
    pixel: &Pixel,
    allowed: &[String],
) -> Result<GivenReport, RunError> {
    let folder = Folder::create()?;
    let mut command = command(infra, pixel, allowed, &folder.0)?;
    let mut child = command.spawn()?;
    // The run ends with its input, even if this process is killed.
    let _input = child.stdin.take();
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if infra.shutdown.has_begun() {
            return Err(RunError::Shutdown);
        }
        if Instant::now() > end {
            return Err(RunError::Failed("the run took too long".to_owned()));
        }
        sleep(POLL).await;
    };
    let (report, note) = (read(&folder.0.join(JSON)), read(&folder.0.join(NOTE)));
    match (report, note) {
        (Ok(report), Ok(note)) => Ok(GivenReport { report, note }),
        (Err(error), _) | (_, Err(error)) => {
            Err(RunError::Failed(format!("the run ended with {status}, and no report: {error}")))
        }
    }
}

fn command(
    infra: &Infra,
    pixel: &Pixel,
    allowed: &[String],
    folder: &Path,
) -> Result<Command, RunError> {
    let mut command = Command::new(program()?);
    command.env_clear().current_dir("/");
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let config = &infra.config;
    if let Some(key) = &config.watch_key {
        command.env("WATCH_KEY", key.expose());
    }
    if let Some(browser) = &config.watch_browser {
        command.env("WATCH_BROWSER", browser);
    }
    let resolved = config.install_check.resolve.iter();
    let resolved = resolved.map(|(host, address)| format!("{host}={address}")).collect::<Vec<_>>();
    if !resolved.is_empty() {
        command.env("INSTALL_CHECK_RESOLVE", resolved.join(","));
    }
    command.env("BASE_URL", infra.base_url());
    command.arg("watch").arg(format!("https://{}/", pixel.domain)).arg(format!("--{ON_NODE}"));
    command.arg("--pixel").arg(pixel.pixel_id.as_str()).arg("--out").arg(folder);
    for site in allowed {
        command.arg("--allow").arg(site);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    Ok(command)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let most = MAX_REPORT as u64 + 1;
    File::open(path)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}
