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
    pub results: Batches<Locking<WriteResults>>,
    pub tidying: Batches<Locking<Tidy>>,
}

impl SharedAccess {
    pub fn start(pool: PgPool, clock: Clock) -> Self {
        Self {
            due: Batches::start(ReadDue { pool: pool.clone(), clock: clock.clone() }),
            results: Batches::start(Locking { pool: pool.clone(), write: WriteResults { clock } }),
            tidying: Batches::start(Locking { pool, write: Tidy }),
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

/// Changes of deliveries, made while their endpoints are locked.
pub trait Write: Send + Sync + 'static {
    type Request: Send + Sync + 'static;

    fn endpoint_id(request: &Self::Request) -> Uuid;

    /// Whether the request takes so long that it would delay others of its batch.
    fn takes_long(_request: &Self::Request) -> bool {
        false
    }

    fn write(
        &self,
        connection: &mut PgConnection,
        requests: &[&Self::Request],
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Locks the endpoints of changes and commits them: many in one transaction, or one alone.
pub struct Locking<W> {
    pool: PgPool,
    write: W,
}

impl<W: Write> Batch for Locking<W> {
    type Request = W::Request;
    type Reply = ();
    const MOST: usize = 256;

    async fn together(&self, requests: &[W::Request]) -> Result<Vec<Option<()>>> {
        let short = requests.iter().filter(|request| !W::takes_long(request));
        let endpoint_ids = short.map(W::endpoint_id).collect::<Vec<_>>();
        let mut transaction = self.pool.begin().await?;
        let locked = claims::lock_free(&mut transaction, &endpoint_ids).await?;
        let is_shared = |request: &W::Request| {
            !W::takes_long(request) && locked.contains(&W::endpoint_id(request))
        };
        let shared = requests.iter().filter(|request| is_shared(request)).collect::<Vec<_>>();
        self.write.write(&mut transaction, &shared).await?;
        transaction.commit().await?;
        Ok(requests.iter().map(|request| is_shared(request).then_some(())).collect())
    }

    async fn alone(&self, request: &W::Request) -> Result<()> {
        let mut transaction = self.pool.begin().await?;
        claims::lock(&mut transaction, W::endpoint_id(request)).await?;
        self.write.write(&mut transaction, &[request]).await?;
        transaction.commit().await?;
        Ok(())
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
    clock: Clock,
}

impl Write for WriteResults {
    type Request = Arc<EndpointResults>;

    fn endpoint_id(results: &Arc<EndpointResults>) -> Uuid {
        results.endpoint_id
    }

    fn takes_long(results: &Arc<EndpointResults>) -> bool {
        results.has_recovered
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        results: &[&Arc<EndpointResults>],
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

/// An endpoint whose deliveries that are no longer listed are deleted.
pub struct Tidied {
    pub endpoint_id: Uuid,
    /// The claim to release.
    pub released: Option<Uuid>,
}

pub struct Tidy;

impl Write for Tidy {
    type Request = Tidied;

    fn endpoint_id(tidied: &Tidied) -> Uuid {
        tidied.endpoint_id
    }

    async fn write(&self, connection: &mut PgConnection, tidied: &[&Tidied]) -> Result<()> {
        let endpoint_ids = tidied.iter().map(|tidied| tidied.endpoint_id).collect::<Vec<_>>();
        waiting::delete_settled(connection, &endpoint_ids, KEPT_DELIVERIES).await?;
        let released =
            tidied.iter().filter_map(|tidied| Some((tidied.endpoint_id, tidied.released?)));
        let (released, claims): (Vec<_>, Vec<_>) = released.unzip();
        claims::release(connection, &released, &claims).await
    }
}
