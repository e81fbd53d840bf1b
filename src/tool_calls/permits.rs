//! Permits that limit how many expensive messages are processed concurrently.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};

/// Maximum time for which a message waits for its permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The permits of a node; clones share them.
#[derive(Clone)]
pub struct Permits {
    /// For messages that anybody may send. Parsing one occupies a core for milliseconds, which must
    /// not delay the requests of visitors.
    pub small: Arc<Semaphore>,
    /// For large messages. Parsing takes about 20 MiB per permit; the largest messages take two permits.
    pub large: Arc<Semaphore>,
}

impl Default for Permits {
    fn default() -> Self {
        Self { small: Arc::new(Semaphore::new(2)), large: Arc::new(Semaphore::new(4)) }
    }
}

pub async fn acquire(semaphore: &Arc<Semaphore>, count: u32) -> Result<OwnedSemaphorePermit> {
    let permit = Arc::clone(semaphore).acquire_many_owned(count);
    let permit = tokio::time::timeout(PERMIT_TIMEOUT, permit);
    permit.await.map_err(|_| Error::Busy { retry_after: 2 })?.map_err(Error::internal)
}

/// A permit that can be released before its holder is dropped. Clones share it.
#[derive(Clone, Default)]
pub struct Held(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Held {
    pub fn new(permit: Option<OwnedSemaphorePermit>) -> Self {
        Self(Arc::new(Mutex::new(permit)))
    }

    /// Releases the permit.
    pub fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
