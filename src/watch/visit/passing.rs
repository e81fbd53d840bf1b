//! Cookies and entries of local storage, also those that are removed before the end of a visit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::clock::Clock;
use crate::watch::devtools::{Connection, SharedSeen};

use super::observation::StoredValue;

const EVERY: Duration = Duration::from_millis(100);
const ANSWER: Duration = Duration::from_secs(5);
const MAX_VALUES: usize = 1000;

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

pub async fn cookies(connection: &Connection) -> Vec<StoredValue> {
    let reading = timeout(ANSWER, connection.call(None, "Storage.getCookies", json!({})));
    let Ok(Ok(answer)) = reading.await else { return Vec::new() };
    answer["cookies"].as_array().into_iter().flatten().map(cookie).collect()
}

fn cookie(cookie: &Value) -> StoredValue {
    let text = |name: &str| cookie[name].as_str().unwrap_or_default().to_owned();
    let is_session = cookie["session"].as_bool().unwrap_or(false);
    #[allow(clippy::cast_precision_loss, reason = "a time in seconds")]
    let now = Clock::System.now().timestamp() as f64;
    let lifetime = cookie["expires"].as_f64().map(|expires| (expires - now).max(0.0).round());
    StoredValue {
        owner: text("domain").trim_start_matches('.').to_owned(),
        store: "cookie",
        name: text("name"),
        value: text("value"),
        lifetime_s: lifetime.filter(|_| !is_session),
        is_session,
    }
}
