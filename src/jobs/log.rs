//! Log jobs: append pending entries, publish, cosign and timestamp. Any node may run them first.

use chrono::Duration;

use crate::error::Result;
use crate::infra::Infra;
use crate::infra::periodic::{periodic, periodic_or_notified};
use crate::policies::revision;
use crate::proof::log::Log;
use crate::receipts::record::script_builds::ScriptBuilds;

const PAUSE: Duration = Duration::seconds(10);

pub fn append_often(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, shutdown) = (log.clone(), infra.shutdown.clone());
    periodic(&infra.schedule, PAUSE, end, move || {
        let (log, shutdown) = (log.clone(), shutdown.clone());
        async move {
            if let Err(error) = log.append_pending().await
                && !shutdown.has_begun()
            {
                tracing::error!(?error, "the log could not be added to");
            }
        }
    });
}

/// Stores the state signed by any node in this node's file, and publishes it once all nodes have stored it.
pub fn remember_often(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, shutdown) = (log.clone(), infra.shutdown.clone());
    periodic(&infra.schedule, Duration::zero(), end, move || {
        let (log, shutdown) = (log.clone(), shutdown.clone());
        async move {
            if let Err(error) = log.remember_newest().await
                && !shutdown.has_begun()
            {
                tracing::error!(?error, "the log could not be remembered");
            }
        }
    });
}

/// Requests cosignatures soon after signing, and retries unavailable witnesses.
pub fn cosign_often(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, shutdown, wake) = (log.clone(), infra.shutdown.clone(), log.appended.clone());
    periodic_or_notified(&infra.schedule, PAUSE, wake, end, move || {
        let (log, shutdown) = (log.clone(), shutdown.clone());
        async move {
            if !shutdown.has_begun()
                && let Err(error) = log.cosign().await
                && !shutdown.has_begun()
            {
                tracing::error!(?error, "the log could not be cosigned");
            }
        }
    });
}

pub fn stamp_daily(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, shutdown) = (log.clone(), infra.shutdown.clone());
    periodic(&infra.schedule, PAUSE, end, move || {
        let (log, shutdown) = (log.clone(), shutdown.clone());
        async move {
            if let Err(error) = log.stamp().await
                && !shutdown.has_begun()
            {
                tracing::error!(?error, "the log could not be time stamped");
            }
        }
    });
}

/// Queues what was published by versions without a log.
pub async fn note_missed(infra: &Infra) -> Result<()> {
    revision::note_missed(infra).await?;
    ScriptBuilds::note_missed(infra).await
}
