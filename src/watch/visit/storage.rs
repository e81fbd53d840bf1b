//! Reads cookies and storage of a profile.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::watch::site::{Site, host_of};

use super::observation::StoredValue;
use super::page::Page;

const READ: &str = include_str!("storage.js");
const ANSWER: Duration = Duration::from_secs(5);
const MAX_ORIGINS: usize = 6;
const STORES: [&str; 4] = ["local_storage", "session_storage", "indexeddb", "cache_storage"];

impl Page {
    /// The values in cookies, and in the storage of all documents that are open.
    pub async fn stored_now(&self) -> Vec<StoredValue> {
        let answers = self.ask_all(READ).await;
        let mut stored = answers.iter().flat_map(values).collect();
        self.add_cookies(&mut stored).await;
        deduplicated(stored)
    }

    /// The values in cookies, and in the storage of all origins of the site that were shown, after the page was
    /// left: each origin is opened as an empty document that no server is asked for.
    pub async fn stored_at_end(&self, site: &Site) -> Vec<StoredValue> {
        let mut stored = Vec::new();
        let shown = self.seen.lock().origins.clone();
        let own =
            |origin: &&String| host_of(origin).is_some_and(|host| Site::of_host(&host) == *site);
        let patterns = json!({"patterns": [{"urlPattern": "*"}]});
        self.connection.post(
            Some(&self.session),
            "Network.setBypassServiceWorker",
            json!({"bypass": true}),
        );
        if self.call("Fetch.enable", patterns).await.is_ok() {
            for origin in shown.iter().filter(own).take(MAX_ORIGINS) {
                if self.open_empty(origin).await {
                    stored.extend(values(&self.ask(READ, true).await));
                }
            }
        }
        self.add_cookies(&mut stored).await;
        deduplicated(stored)
    }

    async fn open_empty(&self, origin: &str) -> bool {
        let url = format!("{origin}/");
        let opening = timeout(ANSWER, self.call("Page.navigate", json!({"url": url})));
        matches!(opening.await, Ok(Ok(opened)) if opened["errorText"].is_null())
    }

    async fn add_cookies(&self, stored: &mut Vec<StoredValue>) {
        let reading = timeout(ANSWER, self.connection.call(None, "Storage.getCookies", json!({})));
        if let Ok(Ok(answer)) = reading.await {
            stored.extend(answer["cookies"].as_array().into_iter().flatten().map(cookie));
        }
    }
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

fn values(answer: &Value) -> Vec<StoredValue> {
    let owner = answer["host"].as_str().unwrap_or_default();
    let found = answer["found"].as_array().into_iter().flatten();
    let values = found.filter_map(|entry| {
        let store = STORES.into_iter().find(|store| entry[0].as_str() == Some(store))?;
        Some(StoredValue {
            owner: owner.to_owned(),
            store,
            name: entry[1].as_str()?.to_owned(),
            value: entry[2].as_str()?.to_owned(),
            lifetime_s: None,
            is_session: store == "session_storage",
        })
    });
    values.collect()
}

fn deduplicated(stored: Vec<StoredValue>) -> Vec<StoredValue> {
    let mut kept = Vec::<StoredValue>::new();
    for value in stored {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}
