//! The log is complete, and continues from its last signed state, after a kill of the service or its
//! database.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::Client;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection, query, query_as, query_scalar};

use crate::support::Process;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{bare_program, program};
use crate::support::server::client;
use crate::support::transparency_log::log::{LOG_KEY, PUBLISH_MANY, PublicLog};

/// So many wait at each start, and are added in several steps.
const WAITING: i32 = 25_000;
const KILLS: u64 = 8;

/// Waits until the log has so many entries, and reads all of it.
pub async fn log_of(service: &Process, client: &Client, entries: usize) -> PublicLog {
    for _ in 0..600 {
        let log = PublicLog::read(client, &service.base).await;
        if let Some(log) = log.filter(|log| log.entries.len() >= entries) {
            return log;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the log stays shorter than {entries}: {}", service.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_while_it_adds_it_has_added_all_of_a_step_or_nothing() {
    let database = TestDatabase::create().await;
    let (client, pool, folder) = (client(), database.pool(), tempfile::tempdir().unwrap());
    let file = folder.path().join("log-checkpoint");
    let start = || {
        let mut command = program(&database.url);
        command.env(LOG_KEY.0, LOG_KEY.1).env("LOG_STATE", &file);
        Process::start(command)
    };
    query(PUBLISH_MANY).bind(0).bind(WAITING).execute(&pool).await.unwrap();
    let mut notes = Vec::<String>::new();
    for kill in 0..KILLS {
        let mut service = start().await;
        tokio::time::sleep(Duration::from_millis(60 * kill)).await;
        service.send(Signal::SIGKILL);
        service.exit_code().await;
        let head = "SELECT size, checkpoint FROM log_head";
        let (size, note) = query_as::<_, (i64, String)>(head).fetch_one(&pool).await.unwrap();
        let numbered = "SELECT count(entry), count(DISTINCT entry) FROM publications";
        let numbered = query_as::<_, (i64, i64)>(numbered).fetch_one(&pool).await.unwrap();
        assert_eq!(numbered, (size, size));
        notes.extend(Some(note).filter(|note| !note.is_empty()));
        // Nothing is published before the file contains it.
        let shown = query_scalar::<_, String>("SELECT checkpoint FROM log_published");
        let shown = shown.fetch_one(&pool).await.unwrap();
        let remembered = fs::read_to_string(&file).unwrap_or_default();
        let size = |note: &str| note.lines().nth(1).map_or(0, |size| size.parse::<u64>().unwrap());
        assert!(size(&shown) <= size(&remembered), "{shown} {remembered}");
        notes.extend([shown, remembered].into_iter().filter(|note| !note.is_empty()));
    }
    let service = start().await;
    let all = "SELECT count(*) FROM publications";
    let all = query_scalar::<_, i64>(all).fetch_one(&pool).await.unwrap();
    let log = log_of(&service, &client, usize::try_from(all).unwrap()).await;
    notes.iter().for_each(|note| log.assert_extends(note));
}

/// A service that keeps its files in a folder.
pub fn at_home(folder: &Path) -> Command {
    let mut command = bare_program();
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.current_dir(folder).env("PATH", path).env("ROCKET_PORT", "0");
    command
}

#[tokio::test]
async fn a_service_with_its_own_database_makes_its_key_once_and_keeps_what_it_signed() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let client = client();
    let mut first = Process::start(at_home(folder.path())).await;
    let log = log_of(&first, &client, 1).await;
    let policy = client.get(first.url("/log/policy")).send().await.unwrap().text().await.unwrap();
    let key = folder.path().join(".data/log-key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let seed = fs::read_to_string(&key).unwrap();
    assert!(!first.log().contains(&seed));
    first.send(Signal::SIGTERM);
    assert_eq!(first.exit_code().await, Some(0), "{}", first.log());
    let mut second = Process::start(at_home(folder.path())).await;
    let again = log_of(&second, &client, log.entries.len()).await;
    again.assert_extends(&log.note);
    let same = client.get(second.url("/log/policy")).send().await.unwrap().text().await.unwrap();
    assert_eq!(same.split(' ').nth(1), policy.split(' ').nth(1));
    let kept = fs::read_to_string(folder.path().join(".data/log-checkpoint")).unwrap();
    again.assert_extends(&kept);
    second.send(Signal::SIGTERM);
    assert_eq!(second.exit_code().await, Some(0), "{}", second.log());
}

/// A service's own database while it runs: its process, and a connection to it.
pub async fn own_database(folder: &Path) -> (Pid, PgConnection) {
    let home = folder.join(".data/postgres").canonicalize().unwrap();
    let said = fs::read_to_string(home.join("data/postmaster.pid")).unwrap();
    let [pid, _, _, port, socket, ..] = said.lines().collect::<Vec<_>>()[..] else {
        panic!("{said}")
    };
    let options = PgConnectOptions::new().socket(socket).port(port.parse().unwrap());
    let connection = options.username("assent").database("assent").connect().await.unwrap();
    (Pid::from_raw(pid.parse().unwrap()), connection)
}

/// The last thing that was signed, as everybody is shown it.
async fn shown(service: &Process, client: &Client) -> Option<String> {
    let answer = client.get(service.url("/log/checkpoint")).send().await.ok()?;
    if answer.status() == 200 { answer.text().await.ok() } else { None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whenever_its_database_is_killed_nothing_that_was_signed_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (client, mut notes) = (client(), Vec::<String>::new());
    for kills in 0..6 {
        let mut service = Process::start(at_home(folder.path())).await;
        let (database, mut connection) = own_database(folder.path()).await;
        let more = query(PUBLISH_MANY).bind(kills * 1_000).bind(1_000);
        more.execute(&mut connection).await.unwrap();
        // The log is looked after every few seconds: the kills come at different moments of that.
        let killed_at =
            Instant::now() + Duration::from_millis(2_000 * u64::try_from(kills).unwrap());
        while Instant::now() < killed_at {
            notes.extend(shown(&service, &client).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        kill(database, Signal::SIGKILL).unwrap();
        notes.extend(shown(&service, &client).await);
        service.send(Signal::SIGKILL);
        service.exit_code().await;
    }
    let mut service = Process::start(at_home(folder.path())).await;
    let log = log_of(&service, &client, 6_000).await;
    assert!(!notes.is_empty());
    notes.sort_unstable();
    notes.dedup();
    notes.iter().for_each(|note| log.assert_extends(note));
    service.send(Signal::SIGTERM);
    assert_eq!(service.exit_code().await, Some(0), "{}", service.log());
}

pub async fn says(service: &Process, words: &str) {
    for _ in 0..300 {
        if service.log().contains(words) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{}", service.log());
}

#[tokio::test]
async fn the_start_says_whether_there_is_a_log() {
    let database = TestDatabase::create().await;
    let without = Process::start(program(&database.url)).await;
    let sentence = "the transparency log is off: LOG_KEY is not set";
    says(&without, sentence).await;
    drop(without);
    let mut command = program(&database.url);
    command.env(LOG_KEY.0, LOG_KEY.1);
    let forgetful = Process::start(command).await;
    says(&forgetful, "neither LOG_STATE nor LOG_WITNESSES is set").await;
    drop(forgetful);
    let mut command = program(&database.url);
    command.env(LOG_KEY.0, LOG_KEY.1).env("BASE_URL", "https://consent.example.com");
    let with = Process::start(command).await;
    says(&with, "consent.example.com/log+").await;
    assert!(!with.log().contains(LOG_KEY.1));
}
