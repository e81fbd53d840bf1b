//! Values that are removed again before the end of a visit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::watch::devtools::{Connection, SharedSeen};

use super::observation::StoredValue;
use super::storage::cookies;

const EVERY: Duration = Duration::from_millis(100);
const MAX_VALUES: usize = 1000;

/// Reads the cookies again and again, until it is dropped.
pub struct CookieReader {
    found: Arc<Mutex<Vec<StoredValue>>>,
    reading: JoinHandle<()>,
}

impl CookieReader {
    pub fn start(connection: Connection) -> Self {
        let found = Arc::new(Mutex::new(Vec::<StoredValue>::new()));
        let kept = Arc::clone(&found);
        let reading = tokio::spawn(async move {
            loop {
                sleep(EVERY).await;
                let cookies = cookies(&connection).await;
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                for cookie in cookies {
                    let is_known = kept.iter().any(|known| known.is_same(&cookie));
                    if !is_known && kept.len() < MAX_VALUES {
                        kept.push(cookie);
                    }
                }
            }
        });
        Self { found, reading }
    }

    pub fn found(&self) -> Vec<StoredValue> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for CookieReader {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// The values that were written to local storage.
pub fn written(seen: &SharedSeen) -> Vec<StoredValue> {
    let seen = seen.lock();
    let values = seen.items.iter().map(|item| StoredValue {
        owner: item.host.clone(),
        store: "local_storage",
        name: item.key.clone(),
        value: item.value.clone(),
        lifetime_s: None,
        is_session: false,
    });
    values.collect()
}
