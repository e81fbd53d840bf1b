//! Jobs of the public log: append pending entries, publish, cosign and timestamp. Every node runs them.

use std::sync::Arc;

use chrono::Duration;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::error::Result;
use crate::infra::periodic::{Schedule, periodic_or_notified};
use crate::infra::shutdown::Shutdown;
use crate::policies::revision;
use crate::proof::log::Log;
use crate::receipts::record::script_builds::ScriptBuilds;

/// The interval of appends, and thus the time until a choice has a proof.
const APPEND_INTERVAL: Duration = Duration::seconds(2);
/// The interval with witnesses, each of which is asked after every append.
const INTERVAL_WITH_WITNESSES: Duration = Duration::seconds(10);
const PAUSE: Duration = Duration::seconds(10);

pub fn append_often(
    schedule: &Schedule,
    shutdown: &Shutdown,
    log: &Log,
    end: impl Future<Output = ()> + Send + 'static,
) {
    let pause = if log.has_witnesses() { INTERVAL_WITH_WITNESSES } else { APPEND_INTERVAL };
    let (times, failed) = ((pause, Arc::default()), "entries could not be appended to the log");
    repeat(schedule, times, shutdown, log, end, failed, |log, _| async move {
        log.append_pending().await
    });
}

/// Stores the newest state that any node signed in this node's file, and publishes it once all nodes have stored it.
pub fn remember_often(
    schedule: &Schedule,
    shutdown: &Shutdown,
    log: &Log,
    end: impl Future<Output = ()> + Send + 'static,
) {
    let at_once = (Duration::zero(), Arc::default());
    let failed = "the state of the log could not be saved";
    repeat(schedule, at_once, shutdown, log, end, failed, |log, _| async move {
        log.remember_newest().await.map(|_| ())
    });
}

/// Requests cosignatures soon after signing, and retries the requests to unavailable witnesses.
pub fn cosign_often(
    schedule: &Schedule,
    shutdown: &Shutdown,
    log: &Log,
    end: impl Future<Output = ()> + Send + 'static,
) {
    let (times, failed) = ((PAUSE, log.appended.clone()), "the log could not be cosigned");
    repeat(schedule, times, shutdown, log, end, failed, |log, shutdown| async move {
        match shutdown.has_begun() {
            true => Ok(()),
            false => log.cosign().await,
        }
    });
}

pub fn stamp_daily(
    schedule: &Schedule,
    shutdown: &Shutdown,
    log: &Log,
    end: impl Future<Output = ()> + Send + 'static,
) {
    let (times, failed) = ((PAUSE, Arc::default()), "the log could not be time stamped");
    repeat(schedule, times, shutdown, log, end, failed, |log, _| async move { log.stamp().await });
}

/// Runs work on the log after each pause, and soon after each wake-up. Failures are logged, except during
/// shutdown.
fn repeat<W>(
    schedule: &Schedule,
    (pause, wake): (Duration, Arc<Notify>),
    shutdown: &Shutdown,
    log: &Log,
    end: impl Future<Output = ()> + Send + 'static,
    failed: &'static str,
    work: impl Fn(Log, Shutdown) -> W + Copy + Send + 'static,
) where
    W: Future<Output = Result<()>> + Send + 'static,
{
    let (log, shutdown) = (log.clone(), shutdown.clone());
    periodic_or_notified(schedule, pause, wake, end, move || {
        let (log, shutdown) = (log.clone(), shutdown.clone());
        async move {
            if let Err(error) = work(log, shutdown.clone()).await
                && !shutdown.has_begun()
            {
                tracing::error!(?error, "{failed}");
            }
        }
    });
}

/// Queues the publications of earlier versions of the program, which had no log.
pub async fn queue_missed(pool: &PgPool, shutdown: &Shutdown) -> Result<()> {
    revision::queue_missed(pool, shutdown).await?;
    ScriptBuilds::queue_missed(pool).await
}
