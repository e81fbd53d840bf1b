//! Cookies and local storage entries, including those that are removed before the end of a visit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::browser::devtools::{Connection, SharedSeen};
use crate::browser::net_log::NetLog;
use crate::clock::Clock;

use super::observation::StoredValue;

const EVERY: Duration = Duration::from_millis(100);
const ANSWER: Duration = Duration::from_secs(5);
const MAX_VALUES: usize = 1000;
/// Maximum number of cookies that only the network log contains.
const MAX_LOGGED: usize = 100;

/// Values, and whether there are more than are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub values: Vec<StoredValue>,
    pub is_cut: bool,
}

impl Found {
    fn add(&mut self, value: StoredValue, most: usize) {
        if self.values.iter().any(|known| known.is_same(&value)) {
            return;
        }
        if self.values.len() < most {
            self.values.push(value);
        } else {
            self.is_cut = true;
        }
    }
}

pub struct CookieReader {
    found: Arc<Mutex<Found>>,
    reading: JoinHandle<()>,
}

impl CookieReader {
    pub fn start(connection: Connection) -> Self {
        let found = Arc::<Mutex<Found>>::default();
        let kept = Arc::clone(&found);
        let reading = tokio::spawn(async move {
            loop {
                sleep(EVERY).await;
                let cookies = cookies(&connection).await.unwrap_or_default();
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                for cookie in cookies {
                    kept.add(cookie, MAX_VALUES);
                }
            }
        });
        Self { found, reading }
    }

    pub fn found(&self) -> Found {
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
        digest: None,
    });
    values.collect()
}

/// Cookies in the network log that were replaced or removed before they could be read. Their lifetime comes from their
/// header, else from a cookie of the same name; cookies without a lifetime are left out.
pub fn logged(log: &NetLog, known: &[StoredValue]) -> Found {
    let cookies = || known.iter().filter(|value| value.store == "cookie");
    let values = cookies().map(|known| (&*known.owner, &*known.name, &*known.value));
    let values = values.collect::<HashSet<_>>();
    let mut found = Found::default();
    for write in log.cookies_written.iter().filter(|write| write.is_persistent) {
        if values.contains(&(&*write.domain, &*write.name, &*write.value)) {
            continue;
        }
        let is_of = |known: &&StoredValue| known.owner == write.domain && known.name == write.name;
        let of_same_name = || cookies().find(is_of).and_then(|known| known.lifetime_s);
        let Some(lifetime_s) = write.lifetime_s.or_else(of_same_name) else { continue };
        let cookie = StoredValue {
            owner: write.domain.clone(),
            store: "cookie",
            name: write.name.clone(),
            value: write.value.clone(),
            lifetime_s: Some(lifetime_s),
            is_session: false,
            digest: None,
        };
        found.add(cookie, MAX_LOGGED);
    }
    found
}

/// All cookies. `None` if the browser does not answer.
pub async fn cookies(connection: &Connection) -> Option<Vec<StoredValue>> {
    let reading = timeout(ANSWER, connection.call(None, "Storage.getCookies", json!({})));
    let answer = reading.await.ok()?.ok()?;
    Some(answer["cookies"].as_array().into_iter().flatten().map(cookie).collect())
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
        digest: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(number: usize) -> StoredValue {
        cookie(
            &json!({"domain": ".shop.test", "name": "id", "value": number.to_string(), "session": true}),
        )
    }

    #[test]
    fn more_values_than_are_kept_are_noticed() {
        let mut found = Found::default();
        for number in [0, 1, 0, 1] {
            found.add(value(number), 2);
        }
        assert!(!found.is_cut && found.values.len() == 2);
        found.add(value(2), 2);
        assert!(found.is_cut && found.values.len() == 2);
    }
}
