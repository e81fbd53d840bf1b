//! A PostgreSQL with a streaming replica, both of the test's own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assent::infra::postgres::Database;
use sqlx::PgPool;

/// Primary and replica; they end when this is dropped.
pub struct Replicated {
    pub primary_url: String,
    pub replica_url: String,
    replica: PgPool,
    process: Child,
}

impl Replicated {
    pub async fn start() -> Self {
        let started = tokio::task::spawn_blocking(|| {
            let mut process = Command::new("tests/support/postgres/replicated_postgres.sh")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the script starts");
            let output = BufReader::new(process.stdout.take().expect("its output is piped"));
            let urls = output.lines().take(2).collect::<Result<Vec<_>, _>>().expect("two lines");
            (process, urls)
        });
        let (process, urls) = started.await.expect("it was waited for");
        let [primary_url, replica_url] = urls.try_into().expect("two servers that run");
        let replica = Database::connect_replica(&replica_url).expect("an address").pool;
        Self { primary_url, replica_url, replica, process }
    }

    /// From here on the replica shows what it showed then.
    pub async fn pause(&self) {
        self.order("SELECT pg_wal_replay_pause()").await;
        for _ in 0..500 {
            let state = sqlx::query_scalar::<_, String>("SELECT pg_get_wal_replay_pause_state()");
            if state.fetch_one(&self.replica).await.unwrap() == "paused" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the replica does not pause");
    }

    pub async fn resume(&self) {
        self.order("SELECT pg_wal_replay_resume()").await;
    }

    async fn order(&self, statement: &'static str) {
        sqlx::query(statement).execute(&self.replica).await.unwrap();
    }

    /// Waits until the replica shows all that the primary has.
    pub async fn catches_up_with(&self, primary: &PgPool) {
        let written = sqlx::query_scalar::<_, String>("SELECT pg_current_wal_lsn()::text");
        let written = written.fetch_one(primary).await.unwrap();
        for _ in 0..500 {
            let reached = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn";
            let reached = sqlx::query_scalar::<_, bool>(reached).bind(&written);
            if reached.fetch_one(&self.replica).await.unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the replica does not catch up");
    }
}

impl Drop for Replicated {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
