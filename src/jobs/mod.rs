//! Background jobs, which run on every node while the service runs.

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

const SECONDS_15: Duration = Duration::seconds(15);
const MINUTE: Duration = Duration::minutes(1);
const HOUR: Duration = Duration::hours(1);

/// Starts all jobs; they end with `end`. Must be called inside a Tokio runtime.
pub fn start(
    accounts: &Accounts,
    receipts: &Receipts,
    public_log: &Log,
    end: impl Future<Output = ()> + Clone + Send + 'static,
) {
    let infra = &accounts.infra;
    sweep_limits(accounts, receipts, end.clone());
    delete_old_data(infra, end.clone());
    send_mails(infra, end.clone());
    maintain_accounts(infra, end.clone());
    count(infra, end.clone());
    check_sites(infra, end.clone());
    watch_sites(infra, end.clone());
    maintain_contacts(infra, end.clone());
    send_webhooks(infra, end.clone());
    maintain_log(infra, public_log, end);
}

fn sweep_limits(
    accounts: &Accounts,
    receipts: &Receipts,
    end: impl Future<Output = ()> + Send + 'static,
) {
    let (clients, pixels) = (accounts.limits.clone(), receipts.limits.clone());
    let of_accounts = accounts.account_limits.clone();
    periodic(&accounts.infra.schedule, MINUTE, end, move || {
        clients.sweep();
        pixels.sweep();
        of_accounts.sweep();
        ready(())
    });
}

fn delete_old_data(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    every(infra, HOUR, end.clone(), "expired data could not be deleted", |infra| async move {
        retention::run::run_once(&infra).await
    });
    every(infra, HOUR, end, "ended demo tags could not be deleted", |infra| async move {
        demo_upkeep::end_tags(&infra).await
    });
}

fn send_mails(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    let failed = "queued mails could not be sent";
    every(infra, SECONDS_15, end.clone(), failed, |infra| async move {
        outbox::try_all_due(&infra).await
    });
    let failed = "owners could not be notified of erasure requests";
    every(infra, SECONDS_15, end.clone(), failed, |infra| async move {
        mails::notify_owners(&infra).await
    });
    let failed = "owners could not be notified of changes of their plan";
    every(infra, MINUTE, end.clone(), failed, |infra| async move {
        plan_mails::notify_owners(&infra).await
    });
    every(infra, MINUTE, end, "weekly digests could not be sent", |infra| async move {
        send_digests(&infra).await
    });
}

fn maintain_accounts(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    let failed = "changes of address could not take effect";
    every(infra, MINUTE, end.clone(), failed, |infra| async move {
        address_change::apply_due(&infra).await
    });
    let failed = "deletions of accounts could not be completed";
    every(infra, HOUR, end, failed, |infra| async move {
        account_deletion::deletion::finish_all(&infra).await
    });
}

fn count(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    every(infra, MINUTE, end.clone(), "uptime could not be recorded", |infra| async move {
        uptime::count_minute(&infra.pool, infra.clock.now()).await
    });
    every(infra, MINUTE, end, "daily counts could not be updated", |infra| async move {
        counting::count_all(&infra).await
    });
}

fn check_sites(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    every(infra, MINUTE, end.clone(), "installations could not be checked", |infra| async move {
        daily_checks::check_due(&infra).await
    });
    every(infra, MINUTE, end.clone(), "ended moves could not be completed", |infra| async move {
        moves::end_due(&infra).await
    });
    every(infra, HOUR, end, "install checks could not be scheduled", |infra| async move {
        daily_checks::plan_checks(&infra).await
    });
}

fn watch_sites(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    every(infra, HOUR, end.clone(), "watches could not be scheduled", |infra| async move {
        daily::plan(&infra).await
    });
    every(infra, MINUTE, end.clone(), "sites could not be watched", |infra| async move {
        daily::watch_due(&infra).await
    });
    every(infra, SECONDS_15, end, "screenshots could not be taken", |infra| async move {
        screenshots::take_all_due(&infra).await
    });
}

fn maintain_contacts(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    let at_once = Duration::zero();
    every(infra, at_once, end.clone(), "suppressions could not be imported", |infra| async move {
        apply::apply_all(&infra).await
    });
    let wake = infra.consent_changes.clone();
    let failed = "withdrawn contacts could not be recorded";
    every_or_notified(infra, SECONDS_15, wake, end, failed, |infra| async move {
        withdrawal::record_withdrawn(&infra).await
    });
}

fn send_webhooks(infra: &Infra, end: impl Future<Output = ()> + Clone + Send + 'static) {
    deliver_webhooks(infra, end.clone());
    let failed = "the secrets of webhooks could not be re-encrypted";
    every(infra, HOUR, end, failed, |infra| async move { re_encrypt_all(&infra).await });
}

fn maintain_log(
    infra: &Infra,
    public_log: &Log,
    end: impl Future<Output = ()> + Clone + Send + 'static,
) {
    every(infra, HOUR, end.clone(), "publications could not be recorded", |infra| async move {
        log::queue_missed(&infra.pool, &infra.shutdown).await
    });
    log::append_often(&infra.schedule, &infra.shutdown, public_log, end.clone());
    if public_log.is_kept() {
        log::remember_often(&infra.schedule, &infra.shutdown, public_log, end.clone());
    }
    if public_log.has_witnesses() {
        log::cosign_often(&infra.schedule, &infra.shutdown, public_log, end.clone());
    }
    log::stamp_daily(&infra.schedule, &infra.shutdown, public_log, end);
}

/// Checks for due deliveries every second, and soon after this node has written one.
fn deliver_webhooks(infra: &Infra, end: impl Future<Output = ()> + Send + 'static) {
    let (sender, wake) = (Sender::start(infra.clone()), infra.events.written.clone());
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
