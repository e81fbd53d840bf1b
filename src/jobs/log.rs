//! What was published comes into the log, and the log to an authority, by whichever node is first.

use chrono::Duration;

use crate::error::Result;
use crate::infra::Infra;
use crate::infra::periodic::{periodic, periodic_or_woken};
use crate::policies::revision;
use crate::proof::log::Log;
use crate::receipts::script_builds::ScriptBuilds;

const PAUSE: Duration = Duration::seconds(10);

/// Adds what waits to the log, again and again.
pub fn seal_often(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, ending) = (log.clone(), infra.ending.clone());
    periodic(infra.clock.clone(), PAUSE, end, move || {
        let (log, ending) = (log.clone(), ending.clone());
        async move {
            if let Err(error) = log.seal().await
                && !ending.has_begun()
            {
                tracing::error!(?error, "the log could not be added to");
            }
        }
    });
}

/// Stores in this node's file what any node has signed, and publishes it once all nodes have stored it.
pub fn remember_often(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, ending) = (log.clone(), infra.ending.clone());
    periodic(infra.clock.clone(), Duration::zero(), end, move || {
        let (log, ending) = (log.clone(), ending.clone());
        async move {
            if let Err(error) = log.remember_newest().await
                && !ending.has_begun()
            {
                tracing::error!(?error, "the log could not be remembered");
            }
        }
    });
}

/// Has what was added cosigned, soon after it was signed, and again by witnesses that were away.
pub fn cosign_often(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, ending, wake) = (log.clone(), infra.ending.clone(), log.sealed.clone());
    periodic_or_woken(infra.clock.clone(), PAUSE, wake, end, move || {
        let (log, ending) = (log.clone(), ending.clone());
        async move {
            if !ending.has_begun()
                && let Err(error) = log.cosign().await
                && !ending.has_begun()
            {
                tracing::error!(?error, "the log could not be cosigned");
            }
        }
    });
}

/// Has the log time stamped once a day.
pub fn stamp_daily(infra: &Infra, log: &Log, end: impl Future<Output = ()> + Send + 'static) {
    let (log, ending) = (log.clone(), infra.ending.clone());
    periodic(infra.clock.clone(), PAUSE, end, move || {
        let (log, ending) = (log.clone(), ending.clone());
        async move {
            if let Err(error) = log.stamp().await
                && !ending.has_begun()
            {
                tracing::error!(?error, "the log could not be time stamped");
            }
        }
    });
}

/// Notes what nodes published that knew no log.
pub async fn note_missed(infra: &Infra) -> Result<()> {
    revision::note_missed(infra).await?;
    ScriptBuilds::note_missed(infra).await
}
