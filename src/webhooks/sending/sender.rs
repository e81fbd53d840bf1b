//! What a node sends with.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as RealTime;

use chrono::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

use crate::infra::Infra;

/// How long an endpoint is one node's alone unless that node says more: longer than a post takes.
pub const CLAIM: Duration = Duration::seconds(30);
/// Posts that a node makes at a time, as far as they are quick.
const MAX_AT_ONCE: usize = 256;
/// Posts beside them that have taken longer than [`QUICK`] and wait for an answer.
const MAX_SLOW: usize = 512;
/// After so long a post gives its place to others.
const QUICK: RealTime = RealTime::from_secs(1);
/// Endpoints that a node sends to at a time, so that not one node takes them all.
const MAX_ENDPOINTS: usize = 1_000;

/// Sends from this node. Clones are the same one.
#[derive(Clone)]
pub struct Sender {
    pub infra: Infra,
    pub places: Arc<Semaphore>,
    slow_places: Arc<Semaphore>,
    /// Endpoints that this node sends to. A clock that jumps ahead lets claims lapse too early.
    busy: Arc<Mutex<HashSet<Uuid>>>,
}

impl Sender {
    pub fn new(infra: Infra) -> Self {
        Self {
            infra,
            places: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            slow_places: Arc::new(Semaphore::new(MAX_SLOW)),
            busy: Arc::default(),
        }
    }

    /// Does work that has a place, and goes on without it when the work is slow: servers that hang hold
    /// up nobody else.
    pub async fn in_place<T>(
        &self,
        place: OwnedSemaphorePermit,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        if let Ok(done) = timeout(QUICK, &mut work).await {
            return done;
        }
        let slow = self.slow_places.try_acquire();
        // Where none is left it keeps the one that it has.
        let _place = slow.is_err().then_some(place);
        work.await
    }

    /// The endpoints that this node sends to, and how many more it may.
    pub fn busy(&self) -> (Vec<Uuid>, usize) {
        let busy = self.change_busy(|busy| busy.iter().copied().collect::<Vec<_>>());
        let room = MAX_ENDPOINTS.saturating_sub(busy.len());
        (busy, room)
    }

    pub fn change_busy<T>(&self, change: impl FnOnce(&mut HashSet<Uuid>) -> T) -> T {
        change(&mut self.busy.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
