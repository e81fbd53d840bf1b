//! Outputs that cannot be written: lost log lines stop nothing, a lost result is a failure.

use std::fs::OpenOptions;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::query_scalar;

use crate::support::ports::free_port;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{bare_program, program, run, said};
use crate::support::server::client;

const TIME_LIMIT: Duration = Duration::from_secs(30);

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("the device").into()
}

/// A pipe that is never read.
fn broken() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// Like `command`, started by a shell that closes descriptors.
fn closing(command: &Command, closed: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("exec \"$0\" \"$@\" {closed}")]).arg(command.get_program());
    shell.args(command.get_args()).env_clear().stdin(Stdio::null());
    let settings = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    shell.envs(settings).current_dir(command.get_current_dir().expect("a folder"));
    shell
}

/// A service on a fixed port, because its log cannot be read. Killed when dropped.
struct Mute {
    child: Child,
    url: String,
}

impl Mute {
    async fn start(database: &TestDatabase, adapt: impl FnOnce(&mut Command)) -> Self {
        let port = free_port().to_string();
        let mut command = program(&database.url);
        command.env("ROCKET_PORT", &port).env("RUST_LOG", "debug");
        command.stdout(Stdio::null());
        adapt(&mut command);
        let mut mute = Self {
            child: command.spawn().expect("the program starts"),
            url: format!("http://127.0.0.1:{port}/healthz"),
        };
        let began = Instant::now();
        while !mute.is_well().await {
            let ended = mute.child.try_wait().unwrap();
            assert!(
                ended.is_none() && began.elapsed() < TIME_LIMIT,
                "it does not serve: {ended:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        mute
    }

    async fn is_well(&self) -> bool {
        client().get(&self.url).send().await.is_ok_and(|answer| answer.status() == 200)
    }

    async fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < TIME_LIMIT, "it does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Fails unless the service keeps serving, whatever it logs, and shuts down in order.
    async fn serves_on(mut self) {
        let client = client();
        for _ in 0..300 {
            let answer = client.get(&self.url).send().await.expect("an answer");
            assert_eq!(answer.status(), 200);
        }
        let pid = Pid::from_raw(self.child.id().try_into().unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        assert_eq!(self.ended().await.code(), Some(0));
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_full_disk_does_not_stop_the_service() {
    let database = TestDatabase::create().await;
    let adapt = |command: &mut Command| {
        command.stderr(full()).stdout(full());
    };
    Mute::start(&database, adapt).await.serves_on().await;
}

#[tokio::test]
async fn closed_outputs_and_broken_pipes_do_not_stop_the_service() {
    let database = &TestDatabase::create().await;
    let closed = ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"].map(|closed| async move {
        let close = |command: &mut Command| *command = closing(command, closed);
        Mute::start(database, close).await.serves_on().await;
    });
    let unread = async {
        let adapt = |command: &mut Command| {
            command.stderr(broken());
        };
        Mute::start(database, adapt).await.serves_on().await;
    };
    join(join_all(closed), unread).await;
}

#[tokio::test]
async fn a_reader_that_has_stopped_reading_does_not_stop_the_service() {
    let database = TestDatabase::create().await;
    let (_reader, writer) = std::io::pipe().unwrap();
    let stuck = |command: &mut Command| {
        // More than the pipe can hold.
        command.stderr(writer).env("RUST_LOG", "trace");
    };
    Mute::start(&database, stuck).await.serves_on().await;
}

#[tokio::test]
async fn a_refusal_that_cannot_be_written_still_fails() {
    for arguments in [&["serve"][..], &["migrate"], &["healthcheck"], &["witness"], &["nonsense"]] {
        for stderr in [full(), broken()] {
            let mut command = bare_program();
            command.args(arguments).env("RATE_LIMITS", "maybe").stderr(stderr);
            let code = run(command).await.status.code();
            assert!(matches!(code, Some(1 | 2)), "{arguments:?}: {code:?}");
        }
    }
}

async fn live_keys(database: &TestDatabase) -> i64 {
    let count = query_scalar("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL");
    count.fetch_one(&database.pool()).await.unwrap()
}

#[tokio::test]
async fn a_key_that_could_not_be_printed_is_revoked() {
    let database = TestDatabase::create().await;
    for stdout in [full(), broken()] {
        let mut command = program(&database.url);
        command.args(["unlimited-key", "ops@example.com"]).stdout(stdout).stderr(Stdio::piped());
        let (code, _, complaint) = said(&run(command).await);
        assert_eq!(code, Some(1), "{complaint}");
        let begins = complaint.starts_with("assent: standard output cannot be written: ");
        assert!(begins && complaint.ends_with("; the new key is revoked\n"), "{complaint}");
        assert_eq!(live_keys(&database).await, 0);
    }
}

#[tokio::test]
async fn without_a_standard_output_no_key_is_issued_or_listed() {
    let database = TestDatabase::create().await;
    for arguments in [["unlimited-key", "ops@example.com"], ["keys", "acc_demo"]] {
        let mut command = program(&database.url);
        command.args(arguments);
        let (code, _, complaint) = said(&run(closing(&command, ">&-")).await);
        assert_eq!(code, Some(1));
        assert_eq!(complaint, "assent: standard output is closed, so nothing was done\n");
    }
    let accounts = query_scalar::<_, i64>("SELECT count(*) FROM accounts WHERE email = $1");
    let accounts = accounts.bind("ops@example.com").fetch_one(&database.pool()).await;
    assert_eq!(accounts.unwrap(), 0);
}

#[tokio::test]
async fn other_results_that_are_lost_are_failures_without_a_panic() {
    let database = TestDatabase::create().await;
    let mut made = program(&database.url);
    made.args(["unlimited-key", "ops@example.com"]);
    assert_eq!(run(made).await.status.code(), Some(0));
    let account = query_scalar::<_, String>("SELECT account_id FROM accounts WHERE email = $1");
    let account = account.bind("ops@example.com").fetch_one(&database.pool()).await.unwrap();
    for arguments in
        [&["keys", &*account][..], &["revoke-keys", &account], &["--help"], &["--version"]]
    {
        for stdout in [full(), broken()] {
            let mut command = program(&database.url);
            command.args(arguments).stdout(stdout).stderr(Stdio::piped());
            let (code, _, complaint) = said(&run(command).await);
            assert_eq!(code, Some(1), "{arguments:?}: {complaint}");
            assert!(!complaint.contains("panicked"), "{complaint}");
        }
    }
}
