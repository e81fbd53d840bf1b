//! Two PostgreSQL servers of the test; the second starts as a streaming standby of the first.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, chown, geteuid};
use sqlx::{Connection, PgConnection, Row, query_scalar, raw_sql};
use tempfile::TempDir;
use tokio::task::block_in_place;

use super::killable_database::children_of;

/// One of the two servers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Server {
    First = 5432,
    Second = 5433,
}

/// Both servers, stopped when dropped. Needs a multi-threaded runtime.
pub struct Servers {
    home: TempDir,
    programs: PathBuf,
    /// PostgreSQL refuses to run as root.
    user: Option<User>,
}

/// The newest server programs, found by pg_config or in Debian's layout.
fn programs() -> PathBuf {
    let named = Command::new("pg_config").arg("--bindir").output();
    let named = named.map(|output| String::from_utf8_lossy(&output.stdout).trim().into());
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed = installed.map(|version| version.path().join("bin")).collect::<Vec<_>>();
    installed.sort();
    let candidates = named.into_iter().chain(installed.into_iter().rev());
    let mut complete = candidates.filter(|folder| folder.join("initdb").is_file());
    complete.next().expect("PostgreSQL's server programs are installed")
}

impl Servers {
    pub fn start() -> Self {
        // Not the default temporary folder, because a socket's path must be short.
        let home = tempfile::Builder::new().prefix("assent-pair.").tempdir_in("/tmp").unwrap();
        let user = geteuid().is_root().then(|| {
            let user = User::from_name("postgres").unwrap().expect("a user `postgres`");
            chown(home.path(), Some(user.uid), Some(user.gid)).unwrap();
            user
        });
        let servers = Self { home, programs: programs(), user };
        block_in_place(|| servers.create());
        servers
    }

    fn create(&self) {
        let (first, second) = (self.data(Server::First), self.data(Server::Second));
        let initdb = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"];
        self.program("initdb", initdb.into_iter().chain(["--no-sync", "-D", &first]));
        self.up(Server::First);
        let from = ["--host", &self.at(""), "--port=5432", "--username=postgres"];
        let how = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--pgdata", &second];
        self.program("pg_basebackup", from.into_iter().chain(how));
        self.up(Server::Second);
    }

    pub fn url(&self, server: Server) -> String {
        let home = self.at("").trim_end_matches('/').replace('/', "%2F");
        format!("postgres://postgres@localhost:{}/postgres?host={home}", server as u16)
    }

    /// Runs a statement on a server, independently of the service.
    pub async fn run(&self, server: Server, statement: &'static str) {
        let mut connection = PgConnection::connect(&self.url(server)).await.unwrap();
        raw_sql(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// The isolation level with which new sessions begin.
    pub async fn isolation(&self, server: Server) -> String {
        let mut connection = PgConnection::connect(&self.url(server)).await.unwrap();
        let shown = raw_sql("SHOW default_transaction_isolation").fetch_one(&mut connection).await;
        shown.unwrap().get(0)
    }

    /// Makes all transactions of new and open sessions read-only, or ends that.
    pub async fn set_read_only(&self, server: Server, on: bool) {
        let change = match on {
            true => "ALTER SYSTEM SET default_transaction_read_only = on",
            false => "ALTER SYSTEM RESET default_transaction_read_only",
        };
        self.run(server, change).await;
        self.run(server, "SELECT pg_reload_conf()").await;
    }

    /// Waits until the second server has replayed everything that the first one wrote.
    pub async fn catches_up(&self) {
        let mut first = PgConnection::connect(&self.url(Server::First)).await.unwrap();
        let written = query_scalar::<_, String>("SELECT pg_current_wal_lsn()::text");
        let written = written.fetch_one(&mut first).await.unwrap();
        let mut second = PgConnection::connect(&self.url(Server::Second)).await.unwrap();
        let reached = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn";
        for _ in 0..1_000 {
            let reached = query_scalar::<_, bool>(reached).bind(&written);
            if reached.fetch_one(&mut second).await.unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the standby does not catch up");
    }

    /// Promotes the standby to primary.
    pub fn promote(&self, server: Server) {
        block_in_place(|| self.program("pg_ctl", ["promote", "-D", &self.data(server)]));
    }

    /// Stops a server immediately, as in a crash.
    pub fn stop(&self, server: Server) {
        block_in_place(|| self.down(server));
    }

    /// Starts a server again, as a standby without a primary.
    pub fn restart_as_standby(&self, server: Server) {
        block_in_place(|| {
            self.down(server);
            self.program("touch", [format!("{}/standby.signal", self.data(server))]);
            self.up(server);
        });
    }

    /// Suspends all processes of a server: its connections stay open, but nothing answers.
    pub fn freeze(&self, server: Server) {
        self.signal(server, Signal::SIGSTOP);
    }

    /// Resumes a suspended server, including requests that arrived meanwhile.
    pub fn thaw(&self, server: Server) {
        self.signal(server, Signal::SIGCONT);
    }

    fn signal(&self, server: Server, signal: Signal) {
        let pid_file = fs::read_to_string(format!("{}/postmaster.pid", self.data(server)));
        let Some(postmaster) =
            pid_file.ok().and_then(|file| file.lines().next()?.trim().parse().ok())
        else {
            return;
        };
        for pid in [vec![postmaster], children_of(postmaster)].concat() {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    fn up(&self, server: Server) {
        let (data, log) = (self.data(server), self.data(server) + ".log");
        let options = format!(
            "-c fsync=off -c listen_addresses= -c unix_socket_directories={} -c port={} -c timezone=UTC",
            self.at(""),
            server as u16,
        );
        let start = ["start", "--silent", "--wait", "-D", &data, "-l", &log, "-o", &options];
        self.program("pg_ctl", start);
    }

    fn down(&self, server: Server) {
        self.program("pg_ctl", ["stop", "--silent", "--mode=immediate", "-D", &self.data(server)]);
    }

    fn at(&self, path: &str) -> String {
        self.home.path().join(path).display().to_string()
    }

    fn data(&self, server: Server) -> String {
        self.at(if server == Server::First { "first" } else { "second" })
    }

    fn program<A: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = A>) {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.programs.display());
        let mut command = match &self.user {
            None => Command::new("env"),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={}", user.uid)).arg(format!("--regid={}", user.gid));
                command.args(["--clear-groups", "env"]);
                command
            }
        };
        command.arg(format!("PATH={path}")).arg("LC_ALL=C").arg(program).args(arguments);
        // A server inherits the pipes of its parent, so reading them to the end would block.
        let log = fs::File::create(self.home.path().join("programs.log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).current_dir(self.home.path());
        let status = command.status().unwrap();
        let said = fs::read_to_string(self.home.path().join("programs.log")).unwrap();
        assert!(status.success(), "{program}: {said}");
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in [Server::First, Server::Second] {
            self.thaw(server);
            if fs::exists(format!("{}/postmaster.pid", self.data(server))).unwrap_or_default() {
                self.down(server);
            }
        }
    }
}
