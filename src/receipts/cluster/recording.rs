//! Recording of choices on a cluster: each choice is queued for the shard of its pixel, whose task writes
//! it.

use std::time::Instant;

use futures_util::FutureExt;
use sqlx::PgPool;
use tokio::time::timeout;

use super::shard_queues::{Batches, ShardQueues};
use super::shards::Shards;
use super::store::recording::{self, PendingEvents};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::{Error, Result};
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::Database;
use crate::infra::postgres::dedicated_connection::{DedicatedConnection, LiveConnection, TIMEOUT};
use crate::receipts::record::writing::{BATCH, BUSY, Job, PlainStatements, Statements, Writer};

/// Distributes choices to the queues of their shards.
pub struct ChoiceRouter {
    queues: ShardQueues<Job>,
    writer: Writer<ShardStatements>,
}

impl ChoiceRouter {
    /// The tasks of the shards use the metrics and notifiers of `plain`.
    pub fn new(database: &Database, plain: &Writer<PlainStatements>) -> Self {
        let (metrics, notifiers) = (plain.metrics.clone(), plain.notifiers.clone());
        let pool = database.pool.clone();
        let statements = ShardStatements { pool, metrics: metrics.clone() };
        let writer = Writer { statements, metrics, notifiers };
        let batches = Batches { most: BATCH, enough: None };
        let of_shard = writer.clone();
        let queues = ShardQueues::new(database, batches, move |connection, batch| {
            let writer = of_shard.clone();
            async move { writer.write(connection, batch).await }.boxed()
        });
        Self { queues, writer }
    }

    /// Queues each choice for the shard of its pixel.
    pub async fn route(
        &self,
        connection: &mut DedicatedConnection,
        shards: &Shards,
        batch: Vec<Job>,
    ) {
        let pixel_ids = batch.iter().map(|job| job.pixel_id().as_str()).collect::<Vec<_>>();
        match connection.run(async |live| shards.of(live, &pixel_ids).await).await {
            Ok(shard_ids) => {
                for (shard, job) in shard_ids.into_iter().zip(batch) {
                    if let Err(job) = self.queues.hand_over(shard, job) {
                        self.writer.refuse(vec![job], &BUSY);
                    }
                }
            }
            Err(error) => self.writer.refuse(batch, &error),
        }
    }
}

#[derive(Clone)]
struct ShardStatements {
    /// Connections to the coordinator, which stores the events for endpoints.
    pool: PgPool,
    metrics: ReceiptMetrics,
}

impl Statements for ShardStatements {
    type Pending = PendingEvents;

    async fn insert(
        &self,
        live: &mut LiveConnection,
        batch: &[Job],
    ) -> Result<(usize, PendingEvents)> {
        let pending_events = recording::insert_receipts(live, &self.pool, batch).await?;
        Ok((pending_events.count(), pending_events))
    }

    async fn list_stored(
        &self,
        live: &mut LiveConnection,
        batch: &[Job],
    ) -> Result<Vec<Option<Result<SignedReceipt>>>> {
        recording::list_stored(&mut live.connection, batch).await
    }

    /// Releases the locks for account erasure and makes events due.
    async fn complete(&self, connection: &mut DedicatedConnection, pending_events: PendingEvents) {
        let begun = Instant::now();
        let releasing =
            async |live: &mut LiveConnection| recording::release_locks(&mut live.connection).await;
        if connection.is_live()
            && let Err(error) = connection.run(releasing).await
        {
            tracing::warn!(%error, "a connection that records is given up, so that nobody waits for it");
        }
        let events = timeout(TIMEOUT, pending_events.publish(&self.pool)).await;
        if let Err(error) = events.unwrap_or(Err(Error::DatabaseUnavailable)) {
            tracing::warn!(%error, "the events of endpoints are stored later");
        }
        self.metrics.settling.observe(begun.elapsed().as_secs_f64());
    }
}
