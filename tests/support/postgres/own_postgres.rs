//! The program with an embedded PostgreSQL in a folder of its own, as users start it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::Answer;
use crate::support::server::client;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_assent");

/// A folder in which the service is started.
pub struct Folder {
    folder: TempDir,
    program: PathBuf,
    pub user: Option<User>,
}

impl Folder {
    /// A folder that other users can enter.
    pub fn open() -> Self {
        Self::with_mode(0o755)
    }

    pub fn with_mode(mode: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        Self { folder, program: PROGRAM.into(), user: None }
    }

    /// A folder of an ordinary user, who starts the service: the tests' own user, unless that is root.
    pub fn of_an_ordinary_user() -> Self {
        let mut folder = Self::with_mode(0o700);
        if geteuid().is_root() {
            let user = User::from_name("nobody").unwrap().expect("a user `nobody`");
            folder.program = folder.copy_program();
            chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
            folder.user = Some(user);
        }
        folder
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program and its run-time files, for users without access to the sources.
    pub fn copy_program(&self) -> PathBuf {
        let program = self.path().join("assent");
        fs::copy(PROGRAM, &program).unwrap();
        copy_tree(Path::new("templates"), &self.path().join("templates"));
        program
    }

    /// The database's folder, wherever it is.
    pub fn home(&self) -> PathBuf {
        self.path().join(".data/postgres").canonicalize().unwrap()
    }

    pub fn server_runs(&self) -> bool {
        self.home().join("data/postmaster.pid").exists()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ROCKET_ADDRESS", "127.0.0.1")
            .env("ROCKET_PORT", "0")
            .env("RATE_LIMITS", "off")
            .process_group(0)
            .kill_on_drop(true)
            .stdin(Stdio::null());
        if let Some(user) = &self.user {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    pub async fn start(&self) -> Service {
        self.started(self.command(&["serve"])).await
    }

    /// The service started by a command in this folder.
    pub async fn started(&self, mut command: Command) -> Service {
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(base) = address_in(&line) {
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Service { process, base };
            }
            said.push_str(&line);
            said.push('\n');
        }
        panic!("the service did not start:\n{said}");
    }

    /// Starts the service, which must refuse, and returns its exit code and output.
    pub async fn refused(&self) -> (Option<i32>, String) {
        outcome(self.command(&["serve"])).await
    }
}

impl Drop for Folder {
    /// Cleans up servers and folders, also after a failed test.
    fn drop(&mut self) {
        let link = self.path().join(".data/postgres");
        let Ok(home) = link.canonicalize() else { return };
        let pid = fs::read_to_string(home.join("data/postmaster.pid")).unwrap_or_default();
        if let Some(pid) = pid.lines().next().and_then(|pid| pid.parse().ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
        }
        if link.is_symlink() {
            let _ = fs::remove_dir_all(home);
        }
    }
}

/// A running service that answers requests.
pub struct Service {
    pub process: Child,
    pub base: String,
}

impl Service {
    pub async fn sign_up(&self, email: &str) -> Answer {
        let body = json!({"email": email, "display_name": "Test"});
        let url = format!("{}/v1/accounts", self.base);
        Answer::of(client().post(url).json(&body)).await
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().unwrap().try_into().unwrap())
    }

    /// Sends SIGTERM, like every supervisor.
    pub async fn stop(mut self) {
        kill(self.pid(), Signal::SIGTERM).unwrap();
        assert!(self.process.wait().await.unwrap().success());
    }

    /// Sends SIGKILL.
    pub async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }
}

pub async fn outcome(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().await.unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// The address in the welcome message on the terminal.
fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("home")?;
    let start = rest.find("http://")?;
    Some(rest[start..].trim_end_matches('/').to_owned())
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        match entry.file_type().is_dir() {
            true => fs::create_dir_all(target).unwrap(),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
