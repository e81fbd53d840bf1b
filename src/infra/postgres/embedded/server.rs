use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::{Connection, PgConnection};
use tokio::process::Child;
use tokio::time::{sleep, timeout};

use super::data_location::DataLocation;
use super::error::{EmbeddedPostgresError, one_line};
use super::pid_file::PidFile;
use super::programs::Programs;
use super::stopping::{FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN, LongWait, PAUSE, STOP_TIMEOUT};

/// The superuser of the cluster, used only to create the application's role and database.
pub(super) const SUPERUSER: &str = "postgres";
const LARGEST_LOG: u64 = 1024 * 1024;
const PREPARE_ATTEMPTS: u32 = 10;

#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    location: DataLocation,
}

impl Server {
    /// Returns once the server accepts connections. Has no timeout, because recovery may take any time.
    pub(super) async fn start(
        programs: &Programs,
        location: DataLocation,
    ) -> Result<Self, EmbeddedPostgresError> {
        let log =
            open_log(&location).map_err(EmbeddedPostgresError::io("open", &location.log()))?;
        let said_before = log.metadata().map_or(0, |log| log.len());
        let mut command = location.command(&programs.postgres());
        command.arg("-D").arg(location.data());
        for setting in settings(&location) {
            command.arg("-c").arg(setting);
        }
        let process = duplicate(&log)
            .and_then(|(stdout, stderr)| command.stdout(stdout).stderr(stderr).spawn())
            .map_err(EmbeddedPostgresError::io("start", &programs.postgres()))?;
        let mut server = Self { process, location };
        server.wait_until_ready(said_before).await?;
        Ok(server)
    }

    async fn wait_until_ready(&mut self, said_before: u64) -> Result<(), EmbeddedPostgresError> {
        let mut wait = LongWait::begin();
        loop {
            let gone = self.process.try_wait();
            if !matches!(gone, Ok(None)) {
                return Err(EmbeddedPostgresError::ProgramFailed {
                    program: "postgres",
                    said: last_words(&self.location.log(), said_before),
                });
            }
            let ready = PidFile::read(&self.location.data())
                .is_some_and(|file| file.pid == self.pid() && file.ready);
            if ready {
                return Ok(());
            }
            wait.report("waiting for the embedded PostgreSQL to be ready");
            sleep(PAUSE).await;
        }
    }

    /// Creates the role and the database `name` if they do not exist. Retries, because on a busy
    /// machine the connection may break right after recovery.
    pub(super) async fn create_database(&self, name: &'static str) -> Result<(), sqlx::Error> {
        let mut attempts = 1;
        loop {
            match self.try_create_database(name).await {
                Err(sqlx::Error::Io(_)) if attempts < PREPARE_ATTEMPTS => attempts += 1,
                done => return done,
            }
            sleep(PAUSE).await;
        }
    }

    async fn try_create_database(&self, name: &'static str) -> Result<(), sqlx::Error> {
        // The name is a constant of this program, so it needs no quoting.
        let statements = [
            (
                "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)",
                format!("CREATE ROLE {name} LOGIN"),
            ),
            (
                "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)",
                format!("CREATE DATABASE {name} OWNER {name}"),
            ),
        ];
        let url = self.location.url(SUPERUSER, "postgres");
        let mut connection = PgConnection::connect(&url).await?;
        for (exists, create) in statements {
            let exists: bool =
                sqlx::query_scalar(exists).bind(name).fetch_one(&mut connection).await?;
            if !exists {
                sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(&mut connection).await?;
            }
        }
        connection.close().await
    }

    pub(super) async fn stop(&mut self) -> Result<(), EmbeddedPostgresError> {
        self.signal(FAST_SHUTDOWN);
        if timeout(STOP_TIMEOUT, self.process.wait()).await.is_err() {
            tracing::warn!("the embedded PostgreSQL takes too long to stop and is cut off");
            self.signal(IMMEDIATE_SHUTDOWN);
        }
        let io = EmbeddedPostgresError::io("stop the PostgreSQL of", self.location.home());
        self.process.wait().await.map_err(io)?;
        self.location.leave_no_socket();
        Ok(())
    }

    fn pid(&self) -> Option<Pid> {
        let pid = self.process.id()?;
        i32::try_from(pid).ok().map(Pid::from_raw)
    }

    /// Has no effect if the process has exited: its pid is not reused before it has been waited for.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill(pid, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(FAST_SHUTDOWN);
    }
}

pub(super) async fn accepts(url: &str) -> bool {
    match PgConnection::connect(url).await {
        Ok(connection) => connection.close().await.is_ok(),
        Err(_) => false,
    }
}

/// Settings for the command line, where neither an edited `postgresql.conf` nor `ALTER SYSTEM` overrides them.
fn settings(location: &DataLocation) -> Vec<OsString> {
    let mut socket = OsString::from("unix_socket_directories=");
    socket.push(quoted(location.socket()));
    let port = format!("port={}", location.port());
    [
        port.as_str(),
        "listen_addresses=",
        "unix_socket_permissions=0700",
        "max_connections=100",
        "shared_buffers=128MB",
        "timezone=UTC",
        "log_timezone=UTC",
        "log_destination=stderr",
        "logging_collector=off",
        // Only the server's own messages are logged: errors of statements may quote personal data,
        // and the service logs them itself.
        "log_min_messages=log",
        "log_min_error_statement=panic",
        "log_checkpoints=off",
        "log_line_prefix=%m [%p] ",
    ]
    .into_iter()
    .map(OsString::from)
    .chain([socket])
    .collect()
}

/// An item of a list setting, quoted because a comma or a space would end it.
fn quoted(path: &Path) -> OsString {
    let mut bytes = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        if byte == b'"' {
            bytes.push(b'"');
        }
        bytes.push(byte);
    }
    bytes.push(b'"');
    OsString::from_vec(bytes)
}

fn open_log(location: &DataLocation) -> io::Result<File> {
    let path = location.log();
    if fs::metadata(&path).is_ok_and(|log| log.len() > LARGEST_LOG) {
        fs::rename(&path, path.with_extension("log.old"))?;
    }
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    location.give_to_owner_of_home(&log)?;
    Ok(log)
}

fn duplicate(log: &File) -> io::Result<(Stdio, Stdio)> {
    Ok((log.try_clone()?.into(), log.try_clone()?.into()))
}

fn last_words(log: &Path, from: u64) -> Option<String> {
    let text = fs::read(log).ok()?;
    let said = text.get(usize::try_from(from).ok()?..)?;
    one_line(&String::from_utf8_lossy(said))
}
