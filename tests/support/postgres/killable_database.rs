//! A PostgreSQL that is killed in the middle of everything, and started again.

use std::fs;
use std::path::Path;

use assent::infra::postgres::embedded::EmbeddedPostgres;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A PostgreSQL of the test's own, with PostgreSQL's own durability.
pub struct KillableDatabase {
    folder: TempDir,
    server: Option<EmbeddedPostgres>,
}

impl KillableDatabase {
    pub async fn start() -> Self {
        let mut database = Self { folder: tempfile::tempdir().unwrap(), server: None };
        database.start_again().await;
        database
    }

    pub async fn start_again(&mut self) {
        self.server = Some(EmbeddedPostgres::start(self.folder.path()).await.expect("it recovers"));
    }

    pub fn url(&self) -> String {
        self.server.as_ref().expect("it runs").url().to_owned()
    }

    /// Ends all its processes as a power failure would.
    pub fn kill(&mut self) {
        let pid_file = self.folder.path().join("postgres/data/postmaster.pid");
        let pid_file = fs::read_to_string(pid_file).expect("it runs");
        let postmaster = pid_file.lines().next().unwrap().trim().parse().unwrap();
        let children = children_of(postmaster);
        for pid in [vec![postmaster], children].concat() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        self.server = None;
    }
}

pub fn children_of(parent: i32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
        let stat =
            fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
        let after_name = stat.rsplit_once(") ")?.1.to_owned();
        (after_name.split(' ').nth(1)?.parse::<i32>().ok()? == parent).then_some(pid)
    });
    processes.collect()
}
