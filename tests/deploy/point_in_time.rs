//! Point-in-time recovery with the scripts of `deploy/postgres/`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assent::infra::postgres::Database;
use nix::unistd::{User, chown, geteuid};
use sqlx::PgPool;
use tempfile::TempDir;

use crate::process::{Process, program, run, said};
use crate::proxy::client;
use crate::public_log::{LOG_KEY, PUBLISH_MANY, Served};
use crate::site::{Site, verifies};

/// A PostgreSQL that archives as `archive.yaml` has it.
struct Server {
    home: TempDir,
    programs: PathBuf,
    /// PostgreSQL refuses to run as root.
    user: Option<User>,
}

/// The newest server programs: what pg_config names, or Debian's layout.
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

fn archive_command() -> String {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/postgres/archive.yaml");
    let shipped = fs::read_to_string(shipped).unwrap();
    let line = shipped.lines().find_map(|line| line.trim().strip_prefix("- archive_command="));
    line.expect("it archives").to_owned()
}

impl Server {
    fn start() -> Self {
        // Not the usual place for temporary files: a socket's path must be short.
        let home = tempfile::Builder::new().prefix("assent-pitr.").tempdir_in("/tmp").unwrap();
        let user = geteuid().is_root().then(|| {
            let user = User::from_name("postgres").unwrap().expect("a user `postgres`");
            chown(home.path(), Some(user.uid), Some(user.gid)).unwrap();
            user
        });
        let server = Self { home, programs: programs(), user };
        server.as_its_user("mkdir", ["-p", &server.at("backups/wal")]);
        let data = server.at("data");
        let encoding = ["--encoding=UTF8", "--locale=C"];
        let settings = ["--username=postgres", "--auth=trust"];
        let folder = ["-D", &data];
        server.as_its_user("initdb", settings.into_iter().chain(encoding).chain(folder));
        let archive = archive_command().replace("/backups", &server.at("backups"));
        let settings = format!(
            "archive_mode = on\narchive_command = '{archive}'\narchive_timeout = 60\n\
             listen_addresses = ''\nunix_socket_directories = '{}'\n",
            server.at("")
        );
        let file = Path::new(&data).join("postgresql.conf");
        fs::write(&file, fs::read_to_string(&file).unwrap() + &settings).unwrap();
        server.up();
        server
    }

    fn at(&self, path: &str) -> String {
        self.home.path().join(path).display().to_string()
    }

    fn url(&self) -> String {
        format!("postgres://postgres@localhost/postgres?host={}", self.at("").replace('/', "%2F"))
    }

    fn as_its_user<A: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = A>) {
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
        let output = command.current_dir(self.home.path()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {complaint}");
    }

    fn shipped(&self, script: &str, arguments: &[&str]) {
        // Copied to where its user may read: a checkout may lie in a closed folder.
        let copy = self.at(script);
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/postgres").join(script);
        fs::copy(shipped, &copy).unwrap();
        self.as_its_user(&copy, arguments);
    }

    fn up(&self) {
        let (data, log) = (self.at("data"), self.at("log"));
        self.as_its_user("pg_ctl", ["start", "--silent", "--wait", "-D", &data, "-l", &log]);
    }

    fn down(&self) {
        self.as_its_user("pg_ctl", ["stop", "--silent", "--mode=fast", "-D", &self.at("data")]);
    }

    fn pool(&self) -> PgPool {
        Database::connect_replica(&self.url()).unwrap().pool
    }

    /// Waits until what was lost has been replayed and the server writes again.
    async fn recovers(&self) {
        let (pool, began) = (self.pool(), Instant::now());
        let recovering = || sqlx::query_scalar::<_, bool>("SELECT pg_is_in_recovery()");
        while recovering().fetch_one(&pool).await.unwrap_or(true) {
            assert!(began.elapsed() < Duration::from_secs(30), "it does not come back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if Path::new(&self.at("data/postmaster.pid")).exists() {
            self.down();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_to_the_moment_before_an_erasure_restores_the_data() {
    let server = Server::start();
    let client = client();
    let node = Process::start(program(&server.url())).await;
    let site = Site::open(&client, &node.base).await;
    let before = site.accept(&client, &node.base, "before-the-backup").await;
    server.shipped("base-backup", &[&server.at("backups"), &format!("--dbname={}", server.url())]);
    let after = site.accept(&client, &node.base, "after-the-backup").await;

    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let moment = sqlx::query_scalar::<_, String>("SELECT now()::text");
    let moment = moment.fetch_one(&server.pool()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let mut mistake = program(&server.url());
    mistake.args(["erase-visitor", &site.pixel_id, "after-the-backup"]);
    let (status, printed, complaint) = said(&run(mistake).await);
    assert_eq!(status, Some(0), "{complaint}");
    assert!(printed.contains('1'), "{printed}");
    drop(node);

    server.down();
    server.shipped("restore-to", &[&server.at("backups"), &server.at("data"), &moment]);
    server.up();
    server.recovers().await;
    let node = Process::start(program(&server.url())).await;
    for (visitor, answer) in [("before-the-backup", &before), ("after-the-backup", &after)] {
        let kept = site.receipt(&client, &node.base, visitor).await;
        assert_eq!(kept["receipt"], answer["receipt"]);
        assert!(verifies(&client, &node.base, answer).await);
    }
    site.accept(&client, &node.base, "after-all").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_to_before_the_last_signed_entries_is_not_signed_again() {
    let server = Server::start();
    let (client, mut served) = (client(), Served::default());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log-checkpoint");
    let start = async |number: &str| {
        let mut command = program(&server.url());
        command.env(LOG_KEY.0, LOG_KEY.1).env("LOG_STATE", &file).env("LOG_NUMBER", number);
        Process::start(command).await
    };
    let publish = async |first: i32| {
        let publishing = sqlx::query(PUBLISH_MANY).bind(first).bind(20);
        publishing.execute(&server.pool()).await.unwrap();
    };
    let shows = async |served: &mut Served, node: &Process, entries: usize| {
        let began = Instant::now();
        while served.read(&client, &node.base).await < entries {
            assert!(began.elapsed() < Duration::from_secs(30), "{}", node.log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let node = start("1").await;
    server.shipped("base-backup", &[&server.at("backups"), &format!("--dbname={}", server.url())]);
    publish(0).await;
    shows(&mut served, &node, 20).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let moment = sqlx::query_scalar::<_, String>("SELECT now()::text");
    let moment = moment.fetch_one(&server.pool()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    publish(1_000).await;
    shows(&mut served, &node, 40).await;
    drop(node);

    server.down();
    server.shipped("restore-to", &[&server.at("backups"), &server.at("data"), &moment]);
    server.up();
    server.recovers().await;
    publish(2_000).await;
    let node = start("1").await;
    for _ in 0..40 {
        served.read(&client, &node.base).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let log = node.log();
    assert!(log.contains("nothing is added to the log: the database has "), "{log}");
    drop(node);
    let node = start("2").await;
    shows(&mut served, &node, 41).await;
    assert!(served.longest("/log/2").size() >= 41);
    served.has_no_fork();
}
