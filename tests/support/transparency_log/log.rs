//! The public log of a service whose clock the test controls.

use std::time::Duration;

use crate::support::server::App;

pub use super::public_log::{LOG_KEY, PUBLISH_MANY, PublicLog, leaf, parse, root};

impl App {
    /// Lets time pass until the log is as it should be.
    pub async fn log_with(&self, is_there: impl Fn(&PublicLog) -> bool) -> PublicLog {
        for _ in 0..150 {
            if let Some(log) = PublicLog::read(&self.client, &self.base).await
                && is_there(&log)
            {
                return log;
            }
            self.clock.advance(chrono::Duration::seconds(10));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("the log never has it");
    }

    /// Lets time pass until something is so.
    pub async fn until(&self, is_so: impl AsyncFn() -> bool) {
        for _ in 0..300 {
            if is_so().await {
                return;
            }
            self.clock.advance(chrono::Duration::seconds(10));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("it never is");
    }

    /// Lets time pass in which the log is looked after several times.
    pub async fn some_rounds(&self) {
        for _ in 0..3 {
            self.clock.advance(chrono::Duration::seconds(10));
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
    }

    /// Publishes this number of things that do not exist.
    pub async fn publish_many(&self, first: i32, count: i32) {
        sqlx::query(PUBLISH_MANY).bind(first).bind(count).execute(&self.pool).await.unwrap();
    }
}
