//! Runs of the command, and their reports.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::support::process::bare_program;

/// Each run has two browsers at a time. More of them would wait for each other on a small machine.
const AT_ONCE: u32 = 2;
static RUNS: Semaphore = Semaphore::const_new(AT_ONCE as usize);
const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Of long tables every page is watched, or with `QUICK_WATCH`, as in CI, every third one.
pub fn step() -> usize {
    if std::env::var_os("QUICK_WATCH").is_some() { 3 } else { 1 }
}

pub const VISITS: [&str; 6] =
    ["untouched", "declined", "accepted_then_withdrawn", "gpc", "returning", "blocked"];

/// A folder with a script that starts the browser, and room for a report.
pub struct Watcher {
    pub folder: TempDir,
}

/// The result of a run that wrote a report.
pub struct Run {
    pub code: Option<i32>,
    pub report: Value,
    pub folder: PathBuf,
    pub said: String,
    pub took: Duration,
    watcher: Watcher,
}

/// Chromium, as `CHROMIUM` names it or as it stands in `PATH`.
pub fn chromium() -> PathBuf {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
    found.find(|program| program.exists()).expect("chromium is installed, or CHROMIUM names it")
}

impl Watcher {
    pub fn new() -> Self {
        Self::after("")
    }

    /// A watcher whose browser starts after these commands of a shell.
    pub fn after(commands: &str) -> Self {
        // The browser's socket, below this folder, must have a short path.
        let folder = tempfile::Builder::new().prefix("w").rand_bytes(5).tempdir_in("/tmp").unwrap();
        let script = folder.path().join("browser");
        let text = format!(
            "#!/bin/sh\n{commands}\nexec '{}' \"$@\" '--host-resolver-rules=MAP * 127.0.0.1'\n",
            chromium().display()
        );
        std::fs::write(&script, text).unwrap();
        let runnable = || std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, runnable()).unwrap();
        // Started by root, the browser is another user.
        std::fs::set_permissions(folder.path(), runnable()).unwrap();
        Self { folder }
    }

    pub fn report(&self) -> PathBuf {
        self.folder.path().join("report")
    }

    /// The command, with the folder for profiles below its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from(bare_program());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMPDIR", self.folder.path());
        command.arg("watch").arg("--browser").arg(self.folder.path().join("browser"));
        command.arg("--out").arg(self.report()).args(arguments);
        command.kill_on_drop(true);
        command
    }
}

pub fn processes(folder: &Path) -> usize {
    ids(folder).len()
}

/// The processes whose arguments or environment name the folder.
pub fn ids(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let has_it = |process: &Path| {
        ["cmdline", "environ"].iter().any(|file| {
            let text = std::fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(folder)
        })
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter(|process| has_it(&process.path()));
    found.map(|process| process.file_name().into_string().unwrap()).collect()
}

pub fn profiles(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("assent-watch-")).count()
}

/// Keeps other runs away from a node's browser, which would give way to theirs.
pub async fn alone() -> SemaphorePermit<'static> {
    RUNS.acquire_many(AT_ONCE).await.unwrap()
}

/// Runs the command to its end.
pub async fn watch(arguments: &[&str]) -> Run {
    watch_with(&[], arguments).await
}

/// As [`watch`], with variables of the environment.
pub async fn watch_with(variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    watch_by(Watcher::new(), variables, arguments).await
}

/// As [`watch_with`], with the browser of this watcher.
pub async fn watch_by(watcher: Watcher, variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    let _turn = RUNS.acquire().await.unwrap();
    let begun = Instant::now();
    let mut command = watcher.command(arguments);
    command.envs(variables.iter().copied());
    if !arguments.contains(&"--seconds") {
        command.args(["--seconds", "1"]);
    }
    let running = command.output();
    let Output { status, stdout, stderr } =
        tokio::time::timeout(TIME_LIMIT, running).await.expect("the command ends").unwrap();
    let took = begun.elapsed();
    let said = [stdout, stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let folder = watcher.report();
    let report = std::fs::read(folder.join("report.json"));
    let report = report.unwrap_or_else(|error| panic!("no report, {error}: {said}"));
    let report = serde_json::from_slice(&report).unwrap();
    Run { code: status.code(), report, folder, said, took, watcher }
}

impl Run {
    #[track_caller]
    pub fn ends_with(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}", self.said);
    }

    /// Fails if a process or a profile of the run is left.
    #[track_caller]
    pub fn leaves_nothing(&self) {
        let folder = self.watcher.folder.path();
        assert_eq!((processes(folder), profiles(folder)), (0, 0));
    }

    pub fn visit(&self, page: usize, visit: &str) -> &Value {
        let visits = self.report["pages"][page]["visits"].as_array().unwrap();
        visits.iter().find(|made| made["visit"] == visit).expect("each visit is in the report")
    }

    /// The kind and host of each entry of a list of a visit, such as `leaks`.
    pub fn listed(&self, page: usize, visit: &str, list: &str) -> BTreeSet<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let entries = self.visit(page, visit)[list].as_array().unwrap();
        entries.iter().map(|leak| (text(&leak["kind"]), text(&leak["host"]))).collect()
    }

    /// The visits in which a list has an entry of the host.
    pub fn visits_with(&self, page: usize, list: &str, host: &str) -> Vec<&'static str> {
        let has =
            |visit: &&str| self.listed(page, visit, list).iter().any(|(_, listed)| listed == host);
        VISITS.into_iter().filter(has).collect()
    }

    /// Fails unless nothing leaked in any visit of a page without a tag, where no choice can be made.
    #[track_caller]
    pub fn has_no_leak(&self, page: usize) {
        for visit in VISITS {
            let leaks = self.visit(page, visit)["leaks"].as_array();
            assert_eq!(leaks.map(Vec::len), Some(0), "{visit}: {}", self.report);
        }
        assert_eq!(self.visits_that_are(page, Some(true)), ["untouched", "gpc", "blocked"]);
        assert_eq!(self.visits_that_are(page, Some(false)), [""; 0]);
    }

    /// The visits with this verdict.
    pub fn visits_that_are(&self, page: usize, silent: Option<bool>) -> Vec<&'static str> {
        let silent = serde_json::json!(silent);
        VISITS.into_iter().filter(|visit| self.visit(page, visit)["silent"] == silent).collect()
    }
}
