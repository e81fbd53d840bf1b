//! All states in which an operator may find `LOG_STATE`, the file with the last signed state.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assent::clock::Clock;
use assent::proof::format::note::NoteSigner;
use chrono::TimeDelta;
use nix::sys::signal::Signal;
use sqlx::{query, query_scalar};

use crate::crashes::{at_home, log_of, own_database, says};
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{bare_program, program, run, said};
use crate::support::server::{client, start_of_time};
use crate::support::transparency_log::log::{LOG_KEY, PUBLISH_MANY, PublicLog, parse};
use crate::support::transparency_log::public_log::Served;
use crate::support::{App, Process};

/// A database, and a folder for state files.
struct Scene {
    database: TestDatabase,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        Self { database: TestDatabase::create().await, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("log-checkpoint")
    }

    fn command(&self, file: &Path, more: &[(&str, &str)]) -> std::process::Command {
        let mut command = program(&self.database.url);
        command.env(LOG_KEY.0, LOG_KEY.1).env("LOG_STATE", file).envs(more.iter().copied());
        command
    }

    async fn start(&self, more: &[(&str, &str)]) -> Process {
        Process::start(self.command(&self.file(), more)).await
    }

    async fn publish(&self, first: i32, count: i32) {
        let publishing = query(PUBLISH_MANY).bind(first).bind(count);
        publishing.execute(&self.database.pool()).await.unwrap();
    }

    async fn signed(&self) -> String {
        let note = query_scalar("SELECT checkpoint FROM log_head");
        note.fetch_one(&self.database.pool()).await.unwrap()
    }

    async fn waiting(&self) -> i64 {
        let waiting = "SELECT count(*) FROM publications WHERE entry IS NULL";
        query_scalar(waiting).fetch_one(&self.database.pool()).await.unwrap()
    }

    /// A log with some entries that the file contains; no node is running.
    async fn with_a_log() -> (Self, PublicLog) {
        let scene = Self::new().await;
        scene.publish(0, 20).await;
        let node = scene.start(&[]).await;
        let log = scene.settled(&node).await;
        drop(node);
        (scene, log)
    }

    /// Waits until all entries are in the log, published, and stored in the file. An entry is added
    /// before its checkpoint is published, so what is published is compared with the database.
    async fn settled(&self, node: &Process) -> PublicLog {
        for _ in 0..600 {
            let is_all_added = self.waiting().await == 0;
            let signed = self.signed().await;
            let log = PublicLog::read(&client(), &node.base).await;
            if let Some(log) = log.filter(|log| is_all_added && log.note == signed)
                && fs::read_to_string(self.file()).is_ok_and(|note| note == log.note)
            {
                return log;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the log is never settled: {}", node.log());
    }

    /// Fails unless a node pauses for this reason and appends nothing, but serves everything else.
    async fn pauses(&self, more: &[(&str, &str)], words: &str) {
        let before = self.signed().await;
        let node = self.start(more).await;
        says(&node, "nothing is added to the log: ").await;
        says(&node, words).await;
        assert!(node.log().contains("docs/operating.md, AssentLogStopped"), "{}", node.log());
        let health = client().get(node.url("/healthz")).send().await.unwrap();
        assert_eq!(health.status(), 200);
        assert_eq!(health.text().await.unwrap(), r#"{"ok":true,"log":"paused"}"#);
        assert_eq!(self.signed().await, before);
    }

    async fn start_and_extend(&self, log: &PublicLog, more: &[(&str, &str)]) -> Process {
        let node = self.start(more).await;
        let longer = self.settled(&node).await;
        longer.assert_extends(&log.note);
        assert!(longer.size() > log.size() && !node.log().contains("nothing is"), "{}", node.log());
        node
    }
}

#[tokio::test]
async fn a_damaged_state_file_pauses_the_log_until_it_is_restored() {
    let (scene, log) = Scene::with_a_log().await;
    scene.publish(100, 5).await;
    let whole = fs::read(scene.file()).unwrap();
    assert_eq!(whole, log.note.as_bytes());
    let root = whole.iter().position(|byte| *byte == b'\n').unwrap() + 8;
    let mut bent = whole.clone();
    bent[root] ^= 1;
    let damaged: [&[u8]; 6] =
        [b"", b"\n", &whole[..whole.len() / 2], &whole[..whole.len() - 1], &[0xff; 40], &bent];
    for bytes in damaged {
        fs::write(scene.file(), bytes).unwrap();
        scene.pauses(&[], "log-checkpoint is damaged").await;
        assert_eq!(
            fs::read(scene.file()).unwrap(),
            bytes,
            "what is damaged is kept for the operator"
        );
    }
    fs::write(scene.file(), whole).unwrap();
    scene.start_and_extend(&log, &[]).await;
}

#[tokio::test]
async fn a_missing_state_file_is_not_treated_as_a_new_one() {
    let (scene, log) = Scene::with_a_log().await;
    scene.publish(100, 5).await;
    fs::remove_file(scene.file()).unwrap();
    let size = log.size();
    let reason = format!("a LOG_STATE file has remembered {size} entries; this node knows of 0");
    scene.pauses(&[], &reason).await;
    // A file at another path, or no file, leads to the same pause.
    let other = scene.folder.path().join("other");
    let node = Process::start(scene.command(&other, &[])).await;
    says(&node, &reason).await;
    drop(node);
    let mut command = program(&scene.database.url);
    command.env(LOG_KEY.0, LOG_KEY.1);
    let node = Process::start(command).await;
    says(&node, &reason).await;
    drop(node);
    // The operator confirms that the file is lost and the database is not.
    let mut command = bare_program();
    command.env("DATABASE_URL", &scene.database.url).arg("forget-log-state");
    assert_eq!(said(&run(command).await), (Some(0), "forgotten files: 1\n".into(), String::new()));
    let node = scene.start_and_extend(&log, &[]).await;
    says(&node, "LOG_STATE was empty").await;
}

#[tokio::test]
async fn a_state_file_that_is_older_than_before_is_not_trusted() {
    let (scene, log) = Scene::with_a_log().await;
    let old = fs::read(scene.file()).unwrap();
    scene.publish(100, 5).await;
    let node = scene.start_and_extend(&log, &[]).await;
    let longer = scene.settled(&node).await;
    drop(node);
    let new = fs::read(scene.file()).unwrap();
    scene.publish(200, 5).await;
    fs::write(scene.file(), old).unwrap();
    let (known, own) = (longer.size(), log.size());
    let reason = format!("has remembered {known} entries; this node knows of {own}");
    scene.pauses(&[], &reason).await;
    fs::write(scene.file(), new).unwrap();
    scene.start_and_extend(&longer, &[]).await;
}

#[tokio::test]
async fn a_state_file_that_cannot_be_written_pauses_the_log_before_signing() {
    let scene = Scene::new().await;
    scene.publish(0, 5).await;
    for file in ["/proc/log-checkpoint", "/proc/sys/kernel/log-checkpoint"] {
        let node = Process::start(scene.command(Path::new(file), &[])).await;
        says(&node, &format!("LOG_STATE: {file} cannot be written")).await;
        assert_eq!(scene.signed().await, "");
    }
}

#[tokio::test]
async fn nothing_is_published_while_the_state_file_cannot_be_written() {
    let (scene, log) = Scene::with_a_log().await;
    let node = scene.start(&[]).await;
    // A folder has the name of the temporary file.
    fs::create_dir(scene.folder.path().join("log-checkpoint.new")).unwrap();
    scene.publish(100, 5).await;
    says(&node, "log-checkpoint cannot be written").await;
    let shown = client().get(node.url("/log/checkpoint")).send().await.unwrap();
    assert_eq!(shown.text().await.unwrap(), log.note);
    scene.publish(200, 5).await;
    // Longer than the pause between two rounds of the log.
    tokio::time::sleep(std::time::Duration::from_secs(12)).await;
    assert_eq!(scene.waiting().await, 5, "no second state is signed that nobody remembers");
    fs::remove_dir(scene.folder.path().join("log-checkpoint.new")).unwrap();
    let longer = scene.settled(&node).await;
    longer.assert_extends(&log.note);
    says(&node, "the log is added to again").await;
}

#[tokio::test]
async fn a_folder_and_a_missing_folder_are_refused_at_the_start() {
    let scene = Scene::new().await;
    let folder = scene.folder.path().to_owned();
    let gone = folder.join("gone/log-checkpoint");
    for (file, words) in
        [(&folder, "is a folder; name a file in it"), (&gone, "there is no folder")]
    {
        let (code, _, complaint) = said(&run(scene.command(file, &[])).await);
        assert_eq!(code, Some(1), "{complaint}");
        let is_clear = complaint.starts_with("assent: LOG_STATE: ") && complaint.contains(words);
        assert!(is_clear, "{complaint}");
    }
}

#[tokio::test]
async fn the_log_continues_from_the_same_file_with_another_key_or_host() {
    const OTHER: &str = "00000000000000000000000000000000000000000000000000000000000000ff";
    let (scene, log) = Scene::with_a_log().await;
    scene.publish(100, 5).await;
    let node = scene.start_and_extend(&log, &[("LOG_KEY", OTHER)]).await;
    drop(node);
    let moved = [("LOG_KEY", OTHER), ("BASE_URL", "https://new.example")];
    let node = scene.start(&moved).await;
    for _ in 0..300 {
        if fs::read_to_string(scene.file()).unwrap().starts_with("new.example/log\n") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(fs::read_to_string(scene.file()).unwrap().starts_with("new.example/log\n"));
    assert!(!node.log().contains("nothing is added"), "{}", node.log());
}

#[tokio::test]
async fn two_services_with_the_same_state_file_are_detected() {
    let (scene, log) = Scene::with_a_log().await;
    let other = Scene::new().await;
    other.publish(500, 5).await;
    let host = [("BASE_URL", "https://other.example")];
    let node = Process::start(other.command(&scene.file(), &host)).await;
    says(&node, "remembers another log, \"localhost/log\", which this database does not hold")
        .await;
    assert_eq!(other.signed().await, "");
    drop(node);
    scene.publish(100, 5).await;
    scene.start_and_extend(&log, &[]).await;
}

#[tokio::test]
async fn the_log_does_not_continue_from_a_checkpoint_of_a_foreign_key() {
    let (scene, log) = Scene::with_a_log().await;
    let (size, _) = parse(&log.note);
    let forged = log.note.lines().take(2).collect::<Vec<_>>().join("\n");
    let root = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, [3; 32]);
    let signer = NoteSigner::new("localhost/log", &[9; 32]).unwrap();
    fs::write(scene.file(), signer.sign(&format!("{forged}\n{root}\n"))).unwrap();
    let reason = format!("remembers that other entries were signed, {size} of them");
    scene.pauses(&[], &reason).await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_does_not_pause_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log-checkpoint");
    let database = Arc::new(TestDatabase::create().await);
    let settings = [LOG_KEY, ("LOG_STATE", file.to_str().unwrap())];
    let app = App::spawn_on(database, Clock::manual(start_of_time()), &settings).await;
    let early = app.log_with(|log| !log.entries.is_empty()).await;
    app.clock.advance(TimeDelta::days(-400));
    app.publish_many(0, 5).await;
    let log = app.log_with(|log| log.entries.len() > 5).await;
    log.assert_extends(&early.note);
    assert_eq!(app.get("/healthz").await.text, r#"{"ok":true}"#);
    assert_eq!(fs::read_to_string(&file).unwrap(), log.note);
}

/// All names in a folder.
fn copy_of(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_old_copy_of_an_embedded_database_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let (client, mut served) = (client(), Served::default());
    let add = async |first: i32| {
        let (_, mut connection) = own_database(folder.path()).await;
        query(PUBLISH_MANY).bind(first).bind(50).execute(&mut connection).await.unwrap();
    };
    let stop = async |mut node: Process| {
        node.send(Signal::SIGTERM);
        assert_eq!(node.exit_code().await, Some(0), "{}", node.log());
    };
    let node = Process::start(at_home(folder.path())).await;
    add(0).await;
    log_of(&node, &client, 50).await;
    served.read(&client, &node.base).await;
    stop(node).await;
    let home = folder.path().join(".data/postgres").canonicalize().unwrap();
    let backup = home.with_extension("backup");
    copy_of(&home, &backup);
    let node = Process::start(at_home(folder.path())).await;
    add(1_000).await;
    log_of(&node, &client, 100).await;
    served.read(&client, &node.base).await;
    stop(node).await;
    fs::remove_dir_all(&home).unwrap();
    fs::rename(&backup, &home).unwrap();
    let node = Process::start(at_home(folder.path())).await;
    add(2_000).await;
    says(&node, "nothing is added to the log: the database has ").await;
    // Longer than the pause between two rounds of the log.
    tokio::time::sleep(std::time::Duration::from_secs(12)).await;
    assert!(served.read(&client, &node.base).await < 100, "as the copy has it");
    stop(node).await;
    let mut command = at_home(folder.path());
    command.env("LOG_NUMBER", "2");
    let node = Process::start(command).await;
    for _ in 0..200 {
        if served.read(&client, &node.base).await > 100 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let entries = &served.longest("/log/2").entries;
    let lost = "assent/continuation/v1\nlocalhost/log\n";
    assert!(entries.iter().any(|entry| entry.starts_with(lost)), "{entries:?}");
    served.has_no_fork();
    stop(node).await;
}
