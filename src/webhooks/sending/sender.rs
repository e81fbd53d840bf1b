use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as RealTime;

use chrono::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

use super::shared::SharedAccess;
use crate::infra::Infra;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::fetch::post::Destination;

/// Duration of a claim on an endpoint unless extended: longer than a post takes.
pub const CLAIM: Duration = Duration::seconds(30);
const MAX_AT_ONCE: usize = 256;
/// Additional posts that have taken longer than [`QUICK`] and await a response.
const MAX_SLOW: usize = 512;
/// After this time a post releases its permit.
const QUICK: RealTime = RealTime::from_secs(1);
/// Maximum deliveries to one endpoint per second, so that many events of one account leave the processors to visitors
/// and to other accounts.
const MAX_RATE: u32 = 1_000;
/// Concurrent endpoints of a node, so that a single node does not claim them all.
const MAX_ENDPOINTS: usize = 1_000;

/// Time for which a server is not resolved and checked again.
const FOUND_FOR: RealTime = RealTime::from_secs(5);

/// The time that this number of deliveries to an endpoint takes at the maximum rate.
pub fn least_duration(deliveries: usize) -> RealTime {
    RealTime::from_secs(deliveries as u64) / MAX_RATE
}

#[derive(Clone)]
pub struct Sender {
    pub infra: Infra,
    pub shared: SharedAccess,
    pub permits: Arc<Semaphore>,
    slow_permits: Arc<Semaphore>,
    /// The checked servers of endpoints at their addresses, with connections that are open for the next delivery.
    pub destinations: Cache<(Uuid, String), Destination>,
    /// Endpoints that this node sends to. Claims alone do not suffice: they lapse too early if the clock jumps ahead.
    busy: Arc<Mutex<HashSet<Uuid>>>,
}

impl Sender {
    pub fn start(infra: Infra) -> Self {
        Self {
            shared: SharedAccess::start(infra.pool.clone(), infra.clock.clone()),
            infra,
            permits: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            slow_permits: Arc::new(Semaphore::new(MAX_SLOW)),
            destinations: Cache::new(Bounds::entries(MAX_ENDPOINTS as u64, Some(FOUND_FOR))),
            busy: Arc::default(),
        }
    }

    /// Runs work that holds a permit, released once the work is slow: hanging servers must not block others.
    pub async fn with_permit<T>(
        &self,
        permit: OwnedSemaphorePermit,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        if let Ok(done) = timeout(QUICK, &mut work).await {
            return done;
        }
        let slow = self.slow_permits.try_acquire();
        // Without a free slow permit, the work keeps its own.
        let _permit = slow.is_err().then_some(permit);
        work.await
    }

    pub fn busy(&self) -> (Vec<Uuid>, usize) {
        let busy = self.change_busy(|busy| busy.iter().copied().collect::<Vec<_>>());
        let room = MAX_ENDPOINTS.saturating_sub(busy.len());
        (busy, room)
    }

    pub fn change_busy<T>(&self, change: impl FnOnce(&mut HashSet<Uuid>) -> T) -> T {
        change(&mut self.busy.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
