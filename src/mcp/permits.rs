//! The places of messages that cost something, and wait for one another.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};

/// How long a message waits for its place.
const PLACE_TIMEOUT: Duration = Duration::from_secs(2);

/// Clones share them.
#[derive(Clone)]
pub struct Permits {
    /// Of those that anybody may send: understanding them takes milliseconds of a core, in which
    /// visitors must not wait for more than a few.
    pub small: Arc<Semaphore>,
    /// Each becomes some 20 MiB when it is read, of which the largest take two.
    pub large: Arc<Semaphore>,
}

impl Default for Permits {
    fn default() -> Self {
        Self { small: Arc::new(Semaphore::new(2)), large: Arc::new(Semaphore::new(4)) }
    }
}

pub async fn place(permits: &Arc<Semaphore>, places: u32) -> Result<OwnedSemaphorePermit> {
    let place = Arc::clone(permits).acquire_many_owned(places);
    let place = tokio::time::timeout(PLACE_TIMEOUT, place);
    place.await.map_err(|_| Error::Busy { retry_after: 2 })?.map_err(Error::internal)
}

/// A place that is left before its holder is gone. Clones share it.
#[derive(Clone, Default)]
pub struct Held(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Held {
    pub fn new(place: Option<OwnedSemaphorePermit>) -> Self {
        Self(Arc::new(Mutex::new(place)))
    }

    /// Makes the place free for the next one.
    pub fn leave(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
