//! The service with a PostgreSQL of its own: the program as people start it, in folders of every
//! kind. What was stored shows over HTTP: an address signs up once only.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, User, geteuid};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::Answer;
use crate::support::server::client;

const PROGRAM: &str = env!("CARGO_BIN_EXE_assent");

/// A folder that the service is started in.
struct Folder {
    folder: TempDir,
    program: PathBuf,
    user: Option<User>,
}

impl Folder {
    /// One that other users may enter.
    fn open() -> Self {
        Self::with_mode(0o755)
    }

    fn with_mode(mode: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        Self { folder, program: PROGRAM.into(), user: None }
    }

    /// One of an ordinary user, who starts the service. The tests' own user, unless that is root.
    fn of_an_ordinary_user() -> Self {
        let mut folder = Self::with_mode(0o700);
        if geteuid().is_root() {
            let user = User::from_name("nobody").unwrap().expect("a user `nobody`");
            folder.program = folder.copy_program();
            chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
            folder.user = Some(user);
        }
        folder
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program with what it reads at run time, for users who may not enter the sources.
    fn copy_program(&self) -> PathBuf {
        let program = self.path().join("assent");
        fs::copy(PROGRAM, &program).unwrap();
        copy_tree(Path::new("templates"), &self.path().join("templates"));
        program
    }

    /// The database's folder, wherever it is.
    fn home(&self) -> PathBuf {
        self.path().join(".data/postgres").canonicalize().unwrap()
    }

    fn server_runs(&self) -> bool {
        self.home().join("data/postmaster.pid").exists()
    }

    fn command(&self, arguments: &[&str]) -> Command {
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

    async fn start(&self) -> Service {
        let mut process =
            self.command(&["serve"]).stderr(Stdio::piped()).spawn().expect("the program starts");
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

    /// Starts the service, which must refuse, and returns its exit code and what it says.
    async fn refused(&self) -> (Option<i32>, String) {
        outcome(self.command(&["serve"])).await
    }
}

impl Drop for Folder {
    /// Also after a failed test nothing stays: no server, no folder elsewhere.
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

/// The service, started and answering.
struct Service {
    process: Child,
    base: String,
}

impl Service {
    async fn sign_up(&self, email: &str) -> Answer {
        let body = json!({"email": email, "display_name": "Test"});
        let url = format!("{}/v1/accounts", self.base);
        Answer::of(client().post(url).json(&body)).await
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().unwrap().try_into().unwrap())
    }

    /// SIGTERM, as every supervisor sends it.
    async fn stop(mut self) {
        kill(self.pid(), Signal::SIGTERM).unwrap();
        assert!(self.process.wait().await.unwrap().success());
    }

    /// SIGKILL.
    async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }
}

async fn outcome(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().await.unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// The address in the lines that welcome the person at the terminal.
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

/// Signs up, and again after `interrupt` has ended the service and it was started anew.
async fn data_survive<F: Future<Output = ()>>(folder: &Folder, interrupt: impl Fn(Service) -> F) {
    let first = folder.start().await;
    first.sign_up("ann@shop.example").await.expect(201);
    interrupt(first).await;
    let second = folder.start().await;
    second.sign_up("ann@shop.example").await.refused(409, "email already registered");
    second.sign_up("bob@shop.example").await.expect(201);
    second.stop().await;
    assert!(!folder.server_runs(), "the database stops with the service");
}

#[tokio::test]
async fn data_survive_a_restart() {
    data_survive(&Folder::open(), Service::stop).await;
}

#[tokio::test]
async fn data_survive_kill_nine_and_the_leftover_server_is_dealt_with() {
    data_survive(&Folder::open(), Service::kill).await;
}

#[tokio::test]
async fn data_survive_kill_nine_of_the_service_and_its_database() {
    let folder = Folder::open();
    data_survive(&folder, |service| async {
        let pid_file = fs::read_to_string(folder.home().join("data/postmaster.pid")).unwrap();
        let server = Pid::from_raw(pid_file.lines().next().unwrap().parse().unwrap());
        service.kill().await;
        kill(server, Signal::SIGKILL).unwrap();
    })
    .await;
}

#[tokio::test]
async fn ctrl_c_ends_the_service_and_then_its_database() {
    let folder = Folder::open();
    let mut service = folder.start().await;
    killpg(service.pid(), Signal::SIGINT).unwrap();
    assert!(service.process.wait().await.unwrap().success());
    assert!(!folder.server_runs());
}

#[tokio::test]
async fn two_services_in_two_folders_know_nothing_of_each_other() {
    let (one, other) = (Folder::open(), Folder::open());
    let (first, second) = tokio::join!(one.start(), other.start());
    first.sign_up("ann@shop.example").await.expect(201);
    second.sign_up("ann@shop.example").await.expect(201);
    first.stop().await;
    second.sign_up("ann@shop.example").await.refused(409, "email already registered");
    second.stop().await;
}

#[tokio::test]
async fn a_second_service_in_one_folder_says_that_one_is_running() {
    let folder = Folder::open();
    let running = folder.start().await;
    let (code, said) = folder.refused().await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is already running on the data in"), "{said}");
    assert!(said.contains(&format!("process {}", running.pid())), "{said}");
    running.sign_up("ann@shop.example").await.expect(201);
    running.stop().await;
}

#[tokio::test]
async fn commands_work_beside_a_running_service_and_without_one() {
    let folder = Folder::open();
    let make_key = ["unlimited-key", "ops@shop.example"];
    let running = folder.start().await;
    let beside = folder.command(&make_key).output().await.unwrap();
    assert!(beside.status.success(), "{}", String::from_utf8_lossy(&beside.stderr));
    let key = String::from_utf8(beside.stdout).unwrap();
    let whoami = client().get(format!("{}/v1/whoami", running.base)).bearer_auth(key.trim());
    Answer::of(whoami).await.expect(200);
    running.stop().await;
    let (mut one, mut other) = (folder.command(&make_key), folder.command(&make_key));
    let (one, other) = tokio::join!(one.output(), other.output());
    for output in [one.unwrap(), other.unwrap()] {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!folder.server_runs());
}

#[tokio::test]
async fn root_may_start_it_in_a_folder_that_nobody_else_may_enter() {
    if !geteuid().is_root() {
        return eprintln!("skipped: needs root");
    }
    let folder = Folder::with_mode(0o700);
    data_survive(&folder, Service::kill).await;
    assert!(folder.home().starts_with("/var/lib/assent"), "{}", folder.home().display());
}

#[tokio::test]
async fn an_ordinary_user_may_start_it() {
    let folder = Folder::of_an_ordinary_user();
    data_survive(&folder, Service::kill).await;
    assert!(folder.home().starts_with(folder.path().canonicalize().unwrap()));
}

#[tokio::test]
async fn root_may_start_it_on_the_data_of_an_ordinary_user_and_then_that_user_again() {
    if !geteuid().is_root() {
        return eprintln!("skipped: needs root");
    }
    let mut folder = Folder::of_an_ordinary_user();
    data_survive(&folder, Service::stop).await;
    let user = folder.user.take();
    let as_root = folder.start().await;
    as_root.sign_up("ann@shop.example").await.refused(409, "email already registered");
    as_root.stop().await;
    folder.user = user;
    let as_user = folder.start().await;
    as_user.sign_up("ann@shop.example").await.refused(409, "email already registered");
    as_user.stop().await;
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_does_no_harm() {
    let folder = Folder::open();
    let deep = folder.path().join("a-folder-with-a-long-name/".repeat(6));
    fs::create_dir_all(&deep).unwrap();
    let mut command = folder.command(&["migrate"]);
    command.current_dir(&deep);
    let (code, said) = outcome(command).await;
    assert_eq!(code, Some(0), "{said}");
}

/// The program in a root directory that holds nothing but itself and the libraries it is linked
/// with: a machine without PostgreSQL.
#[tokio::test]
async fn without_postgres_one_sentence_names_both_remedies() {
    let machine = Folder::open();
    machine.copy_program();
    copy_libraries(machine.path());
    let mut command = match geteuid().is_root() {
        true => Command::new("chroot"),
        false => Command::new("unshare"),
    };
    if !geteuid().is_root() {
        command.args(["--map-root-user", "chroot"]);
    }
    command.arg(machine.path()).args(["/assent", "serve"]).env_remove("DATABASE_URL");
    let (code, said) = outcome(command).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains("No PostgreSQL was found"), "{said}");
    assert!(said.contains("install the PostgreSQL server package"), "{said}");
    assert!(said.contains("or set DATABASE_URL"), "{said}");
    assert!(!machine.path().join(".data").exists(), "nothing is left behind");
}

/// What `ldd` names, at the same paths under `root`.
fn copy_libraries(root: &Path) {
    let output = std::process::Command::new("ldd").arg(PROGRAM).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for library in text.split_whitespace().filter(|word| word.starts_with('/')) {
        let target = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(library, target).unwrap();
    }
}
