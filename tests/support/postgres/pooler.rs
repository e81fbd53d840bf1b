//! A PgBouncer started by the test.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::{User, chown, geteuid};
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::support::ports::free_port;

/// Stopped when dropped.
pub struct Pooler {
    /// The database's address through the pooler.
    pub url: String,
    process: Child,
    _folder: TempDir,
}

/// Debian installs it in a folder that is only in root's path.
fn program() -> &'static str {
    let paths = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];
    paths.into_iter().find(|path| fs::exists(path).unwrap_or_default()).unwrap_or("pgbouncer")
}

impl Pooler {
    /// Starts a pooler for `url` with this number of server connections, used in turn or the last one
    /// first.
    pub fn start(url: &str, mode: &str, size: usize, round_robin: u8) -> Self {
        let folder = tempfile::Builder::new().prefix("assent-pooler.").tempdir_in("/tmp").unwrap();
        let options = url.parse::<PgConnectOptions>().unwrap();
        let host = options
            .get_socket()
            .map_or(options.get_host().to_owned(), |socket| socket.display().to_string());
        let port = free_port();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let settings = format!(
            "[databases]\n* = host={host} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             logfile = {}\npidfile = {}\npool_mode = {mode}\ndefault_pool_size = {size}\n\
             server_round_robin = {round_robin}\n",
            options.get_port(),
            at("users"),
            at("log"),
            at("pid"),
        );
        fs::write(at("settings.ini"), settings).unwrap();
        fs::write(at("users"), format!("\"{}\" \"\"\n", options.get_username())).unwrap();
        let mut command = Command::new(program());
        // PgBouncer refuses to run as root.
        if geteuid().is_root() {
            let user = User::from_name("postgres").unwrap().expect("a user `postgres`");
            chown(folder.path(), Some(user.uid), Some(user.gid)).unwrap();
            command.args(["--user", "postgres"]);
        }
        command.arg(at("settings.ini")).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("PgBouncer is installed");
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(at("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
        let name = options.get_database().expect("a name");
        let url = format!(
            "postgres://{}@127.0.0.1:{port}/{name}?sslmode=disable",
            options.get_username()
        );
        Self { url, process, _folder: folder }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
