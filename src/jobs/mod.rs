//! Background jobs, which run on every node as long as the service does.

pub mod demo_upkeep;
pub mod log;
pub mod outbox;
pub mod plan_mails;
pub mod retention;
pub mod screenshots;

use std::future::ready;
use std::sync::Arc;

use chrono::Duration;
use tokio::sync::Notify;

use crate::account_deletion;
use crate::accounts::profile::address_change;
use crate::accounts::service::Accounts;
use crate::contacts::suppressions::apply;
use crate::contacts::withdrawal;
use crate::digest::sending::send_digests;
use crate::erasure::mails;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::periodic::{periodic, periodic_or_notified};
use crate::infra::uptime;
use crate::pixels::install_check::daily_checks;
use crate::pixels::moves;
use crate::proof::log::Log;
use crate::receipts::daily_counts::counting;
use crate::receipts::service::Receipts;
use crate::silence::daily;
use crate::webhooks::re_encryption::re_encrypt_all;
use crate::webhooks::sending::dispatch::send_due;
use crate::webhooks::sending::sender::Sender;

/// Starts all jobs; they end with `end`. Must be called inside a Tokio runtime.
pub fn start(
    accounts: &Accounts,
    receipts: &Receipts,
    public_log: &Log,
    end: impl Future<Output = ()> + Clone + Send + 'static,
) {
    let infra = &accounts.infra;
    let (clients, pixels) = (accounts.limits.clone(), receipts.limits.clone());
    let of_accounts = accounts.account_limits.clone();
    periodic(&infra.schedule, Duration::minutes(1), end.clone(), move || {
        clients.sweep();
        pixels.sweep();
        of_accounts.sweep();
        ready(())
    });
    let hourly = Duration::hours(1);
    every(infra, hourly, end.clone(), "what is over could not be deleted", |infra| async move {
        retention::run::run_once(&infra).await
    });
    let often = Duration::seconds(15);
    every(infra, often, end.clone(), "waiting mails could not be tried", |infra| async move {
        outbox::try_all_due(&infra).await
    });
    every(infra, often, end.clone(), "owners could not be told of requests", |infra| async move {
        mails::notify_owners(&infra).await
    });
    let minutely = Duration::minutes(1);
    every(
        infra,
        minutely,
        end.clone(),
        "owners could not be told of their plan",
        |infra| async move { plan_mails::notify_owners(&infra).await },
    );
    every(infra, minutely, end.clone(), "weekly digests could not be sent", |infra| async move {
        send_digests(&infra).await
    });
    let failed = "changes of address could not take effect";
    every(infra, minutely, end.clone(), failed, |infra| async move {
        address_change::apply_due(&infra).await
    });
    every(infra, minutely, end.clone(), "the minute could not be counted", |infra| async move {
        uptime::count_minute(&infra.pool, infra.clock.now()).await
    });
    every(infra, minutely, end.clone(), "days could not be counted", |infra| async move {
        counting::count_all(&infra).await
    });
    every(infra, minutely, end.clone(), "installs could not be looked at", |infra| async move {
        daily_checks::check_due(&infra).await
    });
    every(infra, minutely, end.clone(), "moves could not be ended", |infra| async move {
        moves::end_due(&infra).await
    });
    every(infra, hourly, end.clone(), "looks could not be planned", |infra| async move {
        daily_checks::plan_checks(&infra).await
    });
    every(infra, hourly, end.clone(), "watches could not be planned", |infra| async move {
        daily::plan(&infra).await
    });
    every(infra, minutely, end.clone(), "sites could not be watched", |infra| async move {
        daily::watch_due(&infra).await
    });
    every(infra, often, end.clone(), "no screenshots could be taken", |infra| async move {
        screenshots::take_all_due(&infra).await
    });
    let at_once = Duration::zero();
    every(infra, at_once, end.clone(), "a list could not be applied", |infra| async move {
        apply::apply_all(&infra).await
    });
    let wake = infra.consent_changes.clone();
    let failed = "withdrawn contacts could not be noted";
    every_or_notified(infra, often, wake, end.clone(), failed, |infra| async move {
        withdrawal::note_withdrawn(&infra).await
    });
    send_webhooks(infra, end.clone());
    let failed = "the secrets of webhooks could not be sealed anew";
    every(infra, hourly, end.clone(), failed, |infra| async move { re_encrypt_all(&infra).await });
    let failed = "accounts that leave could not be deleted to the end";
    every(infra, hourly, end.clone(), failed, |infra| async move {
        account_deletion::deletion::finish_all(&infra).await
    });
    every(infra, hourly, end.clone(), "publications could not be noted", |infra| async move {
        log::note_missed(&infra).await
    });
    log::append_often(infra, public_log, end.clone());
    if public_log.is_kept() {
        log::remember_often(infra, public_log, end.clone());
    }
    if public_log.has_witnesses() {
        log::cosign_often(infra, public_log, end.clone());
    }
    log::stamp_daily(infra, public_log, end.clone());
    every(infra, hourly, end, "ended demo tags could not be deleted", |infra| async move {
        demo_upkeep::end_tags(&infra).await
    });
}

/// Checks for due deliveries every second, and soon after this node has written one.
fn send_webhooks(infra: &Infra, end: impl Future<Output = ()> + Send + 'static) {
    let (sender, wake) = (Sender::new(infra.clone()), infra.events.written.clone());
    periodic_or_notified(&infra.schedule, Duration::zero(), wake, end, move || {
        let sender = sender.clone();
        async move {
            if let Err(error) = send_due(&sender).await
                && !sender.infra.shutdown.has_begun()
            {
                tracing::error!(?error, "webhooks could not be sent");
            }
        }
    });
}

/// Runs a job periodically. Failures are logged, except during shutdown.
fn every<W>(
    infra: &Infra,
    pause: Duration,
    end: impl Future<Output = ()> + Send + 'static,
    failed: &'static str,
    job: impl Fn(Infra) -> W + Copy + Send + 'static,
) where
    W: Future<Output = Result<()>> + Send + 'static,
{
    every_or_notified(infra, pause, Arc::default(), end, failed, job);
}

/// Like [`every`], and also soon after each wake-up.
fn every_or_notified<W>(
    infra: &Infra,
    pause: Duration,
    wake: Arc<Notify>,
    end: impl Future<Output = ()> + Send + 'static,
    failed: &'static str,
    job: impl Fn(Infra) -> W + Copy + Send + 'static,
) where
    W: Future<Output = Result<()>> + Send + 'static,
{
    let own = infra.clone();
    periodic_or_notified(&infra.schedule, pause, wake, end, move || {
        let infra = own.clone();
        async move {
            if let Err(error) = job(infra.clone()).await
                && !infra.shutdown.has_begun()
            {
                tracing::error!(?error, "{failed}");
            }
        }
    });
}
