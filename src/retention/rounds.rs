//! Deletes what is over, batch after batch, on one node at a time.

use std::time::Duration as RealTime;

use chrono::{DateTime, Duration, Utc};
use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Orbit, Rocket};
use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres};

use super::periods::Ends;
use super::store;
use crate::error::Result;
use crate::platform::Platform;
use crate::platform::rounds::keep_doing;

/// How often what is over is looked for, by the service's clock.
const EVERY: Duration = Duration::hours(1);
/// Rows per statement: some tens of milliseconds, so that no lock is held for long.
const BATCH: i64 = 5_000;
/// Between two batches, for everybody else's turn.
const BREATH: RealTime = RealTime::from_millis(10);

/// Deletes by age while the service runs.
pub struct RetentionRounds;

#[rocket::async_trait]
impl Fairing for RetentionRounds {
    fn info(&self) -> Info {
        Info { name: "Retention", kind: Kind::Liftoff }
    }

    async fn on_liftoff(&self, rocket: &Rocket<Orbit>) {
        let Some(platform) = rocket.state::<Platform>().cloned() else { return };
        keep_doing(platform.clock.clone(), EVERY, rocket.shutdown(), move || {
            let platform = platform.clone();
            async move {
                if let Err(error) = one_round(&platform).await
                    && !platform.pool.is_closed()
                {
                    tracing::error!(?error, "what is over could not be deleted");
                }
            }
        });
    }
}

/// How many rows of each kind went.
#[derive(Debug, Default, PartialEq, Eq)]
struct Deleted {
    shown: u64,
    receipts: u64,
    accounts: u64,
    proofs: u64,
    code_requests: u64,
}

/// One round, unless another node is at it. The turn ends with its transaction, also when this
/// node dies; the batches commit on a connection of their own.
async fn one_round(platform: &Platform) -> Result<()> {
    let mut turn = platform.pool.begin().await?;
    if !store::take_turn(&mut turn).await? {
        return Ok(());
    }
    let now = platform.clock.now();
    let ends = Ends::at(now, platform.config.retention);
    let mut sweep = Sweep { pool: &platform.pool, connection: platform.pool.acquire().await? };
    let deleted = Deleted {
        shown: shown(&mut sweep, ends).await?,
        receipts: receipts(&mut sweep, ends).await?,
        accounts: accounts(&mut sweep, now, ends).await?,
        proofs: proofs(&mut sweep, ends).await?,
        code_requests: code_requests(&mut sweep, ends).await?,
    };
    if deleted != Deleted::default() {
        tracing::info!(?deleted, "deleted what is over");
    }
    Ok(())
}

/// The connection that a round deletes on.
struct Sweep<'a> {
    pool: &'a PgPool,
    connection: PoolConnection<Postgres>,
}

impl Sweep<'_> {
    /// The connection for one more statement; `None` when the service ends and waits for it.
    fn connection(&mut self) -> Option<&mut PgConnection> {
        (!self.pool.is_closed()).then_some(&mut *self.connection)
    }
}

/// Adds up what `$batch` deletes, until it finds less than a batch or the service ends.
macro_rules! in_batches {
    ($sweep:ident, |$connection:ident| $batch:expr) => {{
        let mut deleted = 0;
        while let Some($connection) = $sweep.connection() {
            let batch: u64 = $batch.await?;
            deleted += batch;
            if batch < BATCH.unsigned_abs() {
                break;
            }
            tokio::time::sleep(BREATH).await;
        }
        deleted
    }};
}

/// Pixel by pixel: both tables of visitors are keyed by it.
async fn shown(sweep: &mut Sweep<'_>, ends: Ends) -> Result<u64> {
    let (mut deleted, mut last) = (0, String::new());
    while let Some(connection) = sweep.connection()
        && let Some(pixel_id) = store::find_next_pixel_shown(connection, &last).await?
    {
        deleted += in_batches!(sweep, |on| store::delete_shown(on, &pixel_id, ends.shown, BATCH));
        last = pixel_id;
    }
    Ok(deleted)
}

async fn receipts(sweep: &mut Sweep<'_>, ends: Ends) -> Result<u64> {
    let Some(before) = ends.receipts else { return Ok(0) };
    let (mut deleted, mut last) = (0, String::new());
    while let Some(connection) = sweep.connection()
        && let Some(pixel_id) = store::find_next_pixel_recorded(connection, &last).await?
    {
        deleted += in_batches!(sweep, |on| store::delete_receipts(on, &pixel_id, before, BATCH));
        last = pixel_id;
    }
    Ok(deleted)
}

async fn accounts(sweep: &mut Sweep<'_>, now: DateTime<Utc>, ends: Ends) -> Result<u64> {
    let before = ends.unconfirmed;
    Ok(in_batches!(sweep, |on| store::delete_unconfirmed(on, now, before, BATCH)))
}

async fn proofs(sweep: &mut Sweep<'_>, ends: Ends) -> Result<u64> {
    let before = ends.proofs;
    let tokens = in_batches!(sweep, |on| store::delete_signup_tokens(on, before, BATCH));
    let links = in_batches!(sweep, |on| store::delete_links(on, before, BATCH));
    let codes = in_batches!(sweep, |on| store::delete_codes(on, before, BATCH));
    Ok(tokens + links + codes)
}

async fn code_requests(sweep: &mut Sweep<'_>, ends: Ends) -> Result<u64> {
    let before = ends.code_requests;
    Ok(in_batches!(sweep, |on| store::delete_code_requests(on, before, BATCH)))
}
