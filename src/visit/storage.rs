use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use crate::browser::site::{Site, host_of};

use super::observation::StoredValue;
use super::page::Page;
use super::passing::cookies;

const READ: &str = include_str!("storage.js");
const ANSWER: Duration = Duration::from_secs(5);
const MAX_ORIGINS: usize = 20;
const STORES: [&str; 4] = ["local_storage", "session_storage", "indexeddb", "cache_storage"];

impl Page {
    /// The values in cookies and in the storage of all frames, and whether all frames that answered were read whole.
    pub async fn stored_now(&self) -> (Vec<StoredValue>, bool) {
        let (answers, has_all) = self.evaluate_in_frames(READ).await;
        let is_whole = has_all && answers.iter().all(|answer| answer["whole"] != false);
        let mut stored = answers.iter().flat_map(values).collect::<Vec<_>>();
        let cookies = cookies(&self.connection).await;
        let is_whole = is_whole && cookies.is_some();
        stored.extend(cookies.unwrap_or_default());
        (deduplicated(stored), is_whole)
    }

    /// The values in cookies, and in the storage of all origins of the site that were shown, after the page was left.
    /// Each origin, the page's own first, is opened as an empty document without a request to a server. Fails if there
    /// are too many origins, or the storage of one cannot be read.
    pub async fn stored_at_end(
        &self,
        site: &Site,
        url: &Url,
    ) -> (Vec<StoredValue>, Result<(), String>) {
        let main = url.origin().ascii_serialization();
        let unread = |origin: &str| Err(format!("the storage of {origin} could not be read"));
        let (mut stored, mut read) = (Vec::new(), Ok(()));
        let mut shown = self.seen.lock().origins.iter().cloned().collect::<Vec<_>>();
        shown.sort_by_key(|origin| *origin != main);
        let own =
            |origin: &&String| host_of(origin).is_some_and(|host| Site::of_host(&host) == *site);
        let patterns = json!({"patterns": [{"urlPattern": "*"}]});
        self.connection.post(
            Some(&self.session),
            "Network.setBypassServiceWorker",
            json!({"bypass": true}),
        );
        if self.call("Fetch.enable", patterns).await.is_err() {
            shown.clear();
            read = unread(&main);
        }
        if shown.iter().filter(own).count() > MAX_ORIGINS {
            read = Err(format!("the site showed more than {MAX_ORIGINS} origins"));
        }
        for origin in shown.iter().filter(own).take(MAX_ORIGINS) {
            let mut answer = self.stored_of(origin).await;
            if answer["whole"] != true {
                answer = self.stored_of(origin).await;
            }
            if answer["whole"] != true {
                read = unread(origin);
            }
            stored.extend(values(&answer));
        }
        match cookies(&self.connection).await {
            Some(cookies) => stored.extend(cookies),
            None => read = Err("the cookies could not be read".to_owned()),
        }
        (deduplicated(stored), read)
    }

    async fn stored_of(&self, origin: &str) -> Value {
        if self.open_empty(origin).await { self.evaluate(READ, true).await } else { Value::Null }
    }

    async fn open_empty(&self, origin: &str) -> bool {
        let url = format!("{origin}/");
        let opening = timeout(ANSWER, self.call("Page.navigate", json!({"url": url})));
        matches!(opening.await, Ok(Ok(opened)) if opened["errorText"].is_null())
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
            digest: entry[3].as_str().filter(|digest| !digest.is_empty()).map(str::to_owned),
        })
    });
    values.collect()
}

fn deduplicated(mut stored: Vec<StoredValue>) -> Vec<StoredValue> {
    let mut known = HashSet::new();
    stored.retain(|value| {
        let lifetime = value.lifetime_s.map(f64::to_bits);
        let names = [&value.owner, &value.name, &value.value].map(String::clone);
        known.insert((names, value.store, value.is_session, lifetime))
    });
    stored
}
