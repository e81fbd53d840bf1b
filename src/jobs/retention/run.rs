use std::time::Duration as RealTime;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres};

use super::periods::Cutoffs;
use super::store;
use crate::accounts::{clients, passkeys, preferences, sessions, sign_in};
use crate::contacts::delete_old_withdrawn;
use crate::contacts::suppressions::delete_imports;
use crate::contacts::withdrawal::erase_withdrawn;
use crate::erasure::delete_closed_requests;
use crate::error::Result;
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::shutdown::Shutdown;
use crate::oauth;
use crate::pixels::unused;
use crate::sharing;
use crate::silence::delete_reports;
use crate::webhooks::{delete_untried_deliveries, update_given_up_deliveries};

/// Rows per statement, which takes some tens of milliseconds, so that no lock is held for long.
const BATCH: i64 = 5_000;
/// Pause between two batches, to let other work proceed.
const BATCH_PAUSE: RealTime = RealTime::from_millis(10);

/// Sums the deletions of `$batch`, until a batch is incomplete or the service shuts down.
macro_rules! in_batches {
    ($sweep:ident, |$connection:ident| $batch:expr) => {{
        let mut deleted = 0;
        while let Some($connection) = $sweep.connection() {
            let batch: u64 = $batch.await?;
            deleted += batch;
            if batch < BATCH.unsigned_abs() {
                break;
            }
            tokio::time::sleep(BATCH_PAUSE).await;
        }
        deleted
    }};
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Deleted {
    shown: u64,
    receipts: u64,
    test_receipts: u64,
    accounts: u64,
    verifications: u64,
    code_requests: u64,
    idempotency_keys: u64,
    mailboxes: u64,
    sessions: u64,
    sign_ins: u64,
    client_invitations: u64,
    passkey_challenges: u64,
    passkeys: u64,
    preferences: u64,
    oauth: u64,
    claims: u64,
    shared_links: u64,
    imports: u64,
    erasure_requests: u64,
    watch_reports: u64,
    events: u64,
    unnotified: u64,
    withdrawn: u64,
    withdrawn_entries: u64,
}

pub async fn run_once(infra: &Infra) -> Result<()> {
    if delete(infra).await? {
        // No connection is held while owners are mailed. Two nodes never mail the same owner.
        unused::end_unused(infra).await?;
    }
    Ok(())
}

/// Deletes expired data; `false` if another node is doing so. The lock is released with its transaction, even
/// if this node dies; the batches are committed on another connection.
async fn delete(infra: &Infra) -> Result<bool> {
    let mut lock = infra.pool.begin().await?;
    if !store::take_lock(&mut lock).await? {
        return Ok(false);
    }
    let now = infra.clock.now();
    let cutoffs = Cutoffs::at(now, infra.config.retention);
    let mut sweep = Sweep { shutdown: &infra.shutdown, connection: infra.pool.acquire().await? };
    let deleted = Deleted {
        shown: shown(&mut sweep, cutoffs).await?,
        receipts: receipts(&mut sweep, cutoffs).await?,
        test_receipts: in_batches!(sweep, |on| {
            store::delete_test_receipts(on, cutoffs.test_receipts, BATCH)
        }),
        accounts: in_batches!(sweep, |on| {
            store::delete_unconfirmed(on, cutoffs.unconfirmed, BATCH)
        }),
        verifications: verifications(&mut sweep, cutoffs).await?,
        code_requests: in_batches!(sweep, |on| {
            store::delete_code_requests(on, cutoffs.code_requests, BATCH)
        }),
        idempotency_keys: in_batches!(sweep, |on| idempotency::delete_expired(on, now, BATCH)),
        mailboxes: in_batches!(sweep, |on| store::delete_mailboxes(on, now, BATCH)),
        sessions: in_batches!(sweep, |on| sessions::delete_expired(on, now, BATCH)),
        sign_ins: in_batches!(sweep, |on| sign_in::delete_expired(on, now, BATCH)),
        client_invitations: in_batches!(sweep, |on| {
            clients::delete_expired_client_invitations(on, now, BATCH)
        }),
        passkey_challenges: in_batches!(sweep, |on| {
            passkeys::delete_expired_challenges(on, now, BATCH)
        }),
        passkeys: in_batches!(sweep, |on| passkeys::delete_unused(on)),
        preferences: in_batches!(sweep, |on| preferences::delete_unused(on)),
        oauth: in_batches!(sweep, |on| oauth::delete_expired(on, now, BATCH)),
        claims: in_batches!(sweep, |on| store::delete_claims(on, now, BATCH)),
        shared_links: in_batches!(sweep, |on| sharing::delete_expired(on, now, BATCH)),
        imports: in_batches!(sweep, |on| {
            delete_imports(on, cutoffs.imports, cutoffs.uploads, BATCH)
        }),
        erasure_requests: in_batches!(sweep, |on| {
            delete_closed_requests(on, cutoffs.erasure_requests, BATCH)
        }),
        watch_reports: in_batches!(sweep, |on| {
            delete_reports(on, cutoffs.watch_reports, BATCH)
        }),
        events: in_batches!(sweep, |on| store::delete_events(on, cutoffs.events, BATCH)),
        unnotified: unnotified(&mut sweep, cutoffs).await?,
        withdrawn: erase_withdrawn(&infra.pool, &infra.shutdown, cutoffs.withdrawn).await?,
        withdrawn_entries: in_batches!(sweep, |on| {
            delete_old_withdrawn(on, cutoffs.withdrawn_entries, BATCH)
        }),
    };
    if deleted.receipts > 0 {
        infra.consent_changes.notify_one();
    }
    if deleted != Deleted::default() {
        tracing::info!(?deleted, "deleted expired data");
    }
    Ok(true)
}

struct Sweep<'a> {
    shutdown: &'a Shutdown,
    connection: PoolConnection<Postgres>,
}

impl Sweep<'_> {
    /// The connection for the next statement; `None` once the service is shutting down.
    fn connection(&mut self) -> Option<&mut PgConnection> {
        (!self.shutdown.has_begun()).then_some(&mut *self.connection)
    }
}

/// Iterates over pixels, because all tables of visitors are keyed by pixel.
async fn shown(sweep: &mut Sweep<'_>, cutoffs: Cutoffs) -> Result<u64> {
    let (mut deleted, mut last) = (0, String::new());
    while let Some(connection) = sweep.connection()
        && let Some(pixel_id) = store::find_next_pixel_shown(connection, &last).await?
    {
        deleted +=
            in_batches!(sweep, |on| store::delete_shown(on, &pixel_id, cutoffs.shown, BATCH));
        last = pixel_id;
    }
    Ok(deleted + shown_local(sweep, cutoffs).await?)
}

async fn shown_local(sweep: &mut Sweep<'_>, cutoffs: Cutoffs) -> Result<u64> {
    let (mut deleted, mut last) = (0, String::new());
    while let Some(connection) = sweep.connection()
        && let Some(pixel_id) = store::find_next_pixel_shown_local(connection, &last).await?
    {
        deleted +=
            in_batches!(sweep, |on| store::delete_shown_local(on, &pixel_id, cutoffs.shown, BATCH));
        last = pixel_id;
    }
    Ok(deleted)
}

async fn receipts(sweep: &mut Sweep<'_>, cutoffs: Cutoffs) -> Result<u64> {
    let Some(before) = cutoffs.receipts else { return Ok(0) };
    let (mut deleted, mut last) = (0, String::new());
    while let Some(connection) = sweep.connection()
        && let Some(pixel_id) = store::find_next_pixel_recorded(connection, &last).await?
    {
        deleted += in_batches!(sweep, |on| store::delete_receipts(on, &pixel_id, before, BATCH));
        last = pixel_id;
    }
    Ok(deleted)
}

async fn verifications(sweep: &mut Sweep<'_>, cutoffs: Cutoffs) -> Result<u64> {
    let before = cutoffs.verifications;
    let tokens = in_batches!(sweep, |on| store::delete_signup_tokens(on, before, BATCH));
    let links = in_batches!(sweep, |on| store::delete_links(on, before, BATCH));
    let codes = in_batches!(sweep, |on| store::delete_codes(on, before, BATCH));
    let ended = cutoffs.account_codes;
    let others = in_batches!(sweep, |on| store::delete_account_codes(on, ended, BATCH));
    Ok(tokens + links + codes + others)
}

async fn unnotified(sweep: &mut Sweep<'_>, cutoffs: Cutoffs) -> Result<u64> {
    let Cutoffs { untried, undelivered, .. } = cutoffs;
    let deleted = in_batches!(sweep, |on| delete_untried_deliveries(on, untried, BATCH));
    Ok(deleted + in_batches!(sweep, |on| update_given_up_deliveries(on, undelivered, BATCH)))
}
