//! The accesses of all runs of a node to the database. Concurrent ones share round trips and commits. An endpoint that
//! may take long is handled alone: one whose row is locked, such as by a long replay, or whose postponed deliveries all
//! become due. If a delivery is locked, such as by the deletion of its pixel, all endpoints of the batch are.

use std::sync::Arc;

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::clock::Clock;
use crate::error::Result;
use crate::infra::batches::{Batch, Batches};
use crate::infra::events::delete_events_at;
use crate::webhooks::kinds::known_kinds;
use crate::webhooks::store::claims::{self, EndpointHealth};
use crate::webhooks::store::waiting::{self, DueDelivery, KEPT_DELIVERIES, Settled};

/// Maximum number of deliveries that a run reads at once.
pub const MOST_DUE: i64 = 500;

#[derive(Clone)]
pub struct SharedAccess {
    /// The due deliveries of an endpoint, at most [`MOST_DUE`]. One run at a time requests those of an endpoint.
    pub due: Batches<ReadDue>,
    pub results: Batches<WriteResults>,
    pub tidying: Batches<Tidy>,
}

impl SharedAccess {
    pub fn start(pool: PgPool, clock: Clock) -> Self {
        Self {
            due: Batches::start(ReadDue { pool: pool.clone(), clock: clock.clone() }),
            results: Batches::start(WriteResults { pool: pool.clone(), clock }),
            tidying: Batches::start(Tidy { pool }),
        }
    }
}

pub struct ReadDue {
    pool: PgPool,
    clock: Clock,
}

impl ReadDue {
    async fn read(&self, endpoint_ids: &[Uuid]) -> Result<Vec<DueDelivery>> {
        let mut connection = self.pool.acquire().await?;
        let now = self.clock.now();
        waiting::list_due(&mut connection, endpoint_ids, &known_kinds(), now, MOST_DUE).await
    }
}

impl Batch for ReadDue {
    type Request = Uuid;
    type Reply = Vec<DueDelivery>;
    const MOST: usize = 64;

    async fn together(&self, endpoint_ids: &[Uuid]) -> Result<Vec<Option<Vec<DueDelivery>>>> {
        let mut found = endpoint_ids.iter().map(|_| Vec::new()).collect::<Vec<_>>();
        for due in self.read(endpoint_ids).await? {
            if let Some(index) = endpoint_ids.iter().position(|id| *id == due.endpoint_id) {
                found[index].push(due);
            }
        }
        Ok(found.into_iter().map(Some).collect())
    }

    async fn alone(&self, endpoint_id: &Uuid) -> Result<Vec<DueDelivery>> {
        self.read(&[*endpoint_id]).await
    }
}

/// The results of attempts on one endpoint.
pub struct EndpointResults {
    pub endpoint_id: Uuid,
    pub settled: Vec<Settled>,
    /// Obsolete deliveries, by partition key and number.
    pub not_needed: Vec<(String, i64)>,
    pub health: Option<EndpointHealth>,
    /// The endpoint has recovered: its postponed deliveries become due at once.
    pub has_recovered: bool,
}

pub struct WriteResults {
    pool: PgPool,
    clock: Clock,
}

impl WriteResults {
    async fn write(
        &self,
        connection: &mut PgConnection,
        results: &[&EndpointResults],
    ) -> Result<()> {
        let health = results.iter().filter_map(|results| results.health.as_ref());
        let health = health.collect::<Vec<_>>();
        if !health.is_empty() {
            claims::update_health(connection, &health).await?;
        }
        let mut settled = results.iter().flat_map(|results| &results.settled).collect::<Vec<_>>();
        settled.sort_unstable_by_key(|settled| settled.seq);
        waiting::update_settled(connection, &settled).await?;
        let not_needed = results.iter().flat_map(|results| &results.not_needed);
        let (keys, seqs): (Vec<_>, Vec<_>) =
            not_needed.map(|(key, seq)| (key.as_str(), *seq)).unzip();
        if !keys.is_empty() {
            delete_events_at(connection, &keys, &seqs).await?;
        }
        let recovered = results.iter().filter(|results| results.has_recovered);
        let recovered = recovered.map(|results| results.endpoint_id).collect::<Vec<_>>();
        if !recovered.is_empty() {
            waiting::update_due_now(connection, &recovered, self.clock.now()).await?;
        }
        Ok(())
    }
}

impl Batch for WriteResults {
    type Request = Arc<EndpointResults>;
    type Reply = ();
    const MOST: usize = 256;

    async fn together(&self, results: &[Arc<EndpointResults>]) -> Result<Vec<Option<()>>> {
        let shared = results.iter().filter(|results| !results.has_recovered);
        let endpoint_ids = shared.map(|results| results.endpoint_id).collect::<Vec<_>>();
        let mut transaction = self.pool.begin().await?;
        let locked = claims::lock_free(&mut transaction, &endpoint_ids).await?;
        let is_locked = |results: &EndpointResults| {
            !results.has_recovered && locked.contains(&results.endpoint_id)
        };
        let written = results.iter().map(Arc::as_ref).filter(|results| is_locked(results));
        self.write(&mut transaction, &written.collect::<Vec<_>>()).await?;
        transaction.commit().await?;
        Ok(results.iter().map(|results| is_locked(results).then_some(())).collect())
    }

    async fn alone(&self, results: &Arc<EndpointResults>) -> Result<()> {
        let mut transaction = self.pool.begin().await?;
        claims::lock(&mut transaction, results.endpoint_id).await?;
        self.write(&mut transaction, &[results]).await?;
        transaction.commit().await?;
        Ok(())
    }
}

/// An endpoint whose deliveries that are no longer listed are deleted.
pub struct Tidied {
    pub endpoint_id: Uuid,
    /// The claim to release.
    pub released: Option<Uuid>,
}

pub struct Tidy {
    pool: PgPool,
}

impl Tidy {
    async fn tidy(connection: &mut PgConnection, tidied: &[&Tidied]) -> Result<()> {
        let endpoint_ids = tidied.iter().map(|tidied| tidied.endpoint_id).collect::<Vec<_>>();
        waiting::delete_settled(connection, &endpoint_ids, KEPT_DELIVERIES).await?;
        let released =
            tidied.iter().filter_map(|tidied| Some((tidied.endpoint_id, tidied.released?)));
        let (released, claims): (Vec<_>, Vec<_>) = released.unzip();
        claims::release(connection, &released, &claims).await
    }
}

impl Batch for Tidy {
    type Request = Tidied;
    type Reply = ();
    const MOST: usize = 256;

    async fn together(&self, tidied: &[Tidied]) -> Result<Vec<Option<()>>> {
        let endpoint_ids = tidied.iter().map(|tidied| tidied.endpoint_id).collect::<Vec<_>>();
        let mut transaction = self.pool.begin().await?;
        let locked = claims::lock_free(&mut transaction, &endpoint_ids).await?;
        let is_locked = |tidied: &Tidied| locked.contains(&tidied.endpoint_id);
        let done = tidied.iter().filter(|tidied| is_locked(tidied)).collect::<Vec<_>>();
        Self::tidy(&mut transaction, &done).await?;
        transaction.commit().await?;
        Ok(tidied.iter().map(|tidied| is_locked(tidied).then_some(())).collect())
    }

    async fn alone(&self, tidied: &Tidied) -> Result<()> {
        let mut transaction = self.pool.begin().await?;
        claims::lock(&mut transaction, tidied.endpoint_id).await?;
        Self::tidy(&mut transaction, &[tidied]).await?;
        transaction.commit().await?;
        Ok(())
    }
}
