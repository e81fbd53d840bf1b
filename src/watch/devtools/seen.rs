use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::causes::{Cause, OTHER};
use crate::watch::site::shortened;

/// Requests beyond this number are in the network log only.
const MAX_CAUSES: usize = 20_000;

const MAX_ITEMS: usize = 500;
const MAX_WRITES: usize = 20;

/// The main document of the latest navigation.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub status: Option<u64>,
    /// The network error, such as `net::ERR_CERT_AUTHORITY_INVALID`.
    pub failure: Option<String>,
    pub is_loaded: bool,
}

#[derive(Clone, Debug)]
pub struct TagScript {
    pub url: String,
    pub request: String,
    pub session: String,
}

/// A value that was written to local storage. Times are milliseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemWritten {
    pub host: String,
    pub key: String,
    pub value: String,
    pub at_ms: f64,
}

#[derive(Clone, Debug)]
pub struct MessageSent {
    pub url: String,
    pub at_ms: f64,
}

#[derive(Debug, Default)]
pub struct Seen {
    pub main: Option<String>,
    /// Sessions of pages, with their targets.
    pub targets: Vec<(String, String)>,
    pub documents: BTreeSet<String>,
    pub document: Document,
    pub tags: Vec<TagScript>,
    pub workers: BTreeSet<String>,
    /// Origins of documents that were shown.
    pub origins: BTreeSet<String>,
    pub items: Vec<ItemWritten>,
    /// The latest message of each WebSocket.
    pub messages: HashMap<String, MessageSent>,
    causes: HashMap<String, Cause>,
    pub pages: usize,
    pub has_crashed: bool,
    pub received: u64,
    pub main_request: Option<String>,
    pub main_frame: Option<String>,
}

impl Seen {
    pub fn note(&mut self, url: &str, cause: Cause) {
        if self.causes.len() < MAX_CAUSES && !url.starts_with("data:") {
            let url = without_fragment(shortened(url));
            // A preflight is named after the request that it precedes.
            if cause.resource == "Preflight" {
                return;
            }
            let known = self.causes.entry(url.to_owned()).or_insert_with(|| cause.clone());
            // The request of a worker is sometimes first reported without its type.
            if known.resource == OTHER {
                known.resource = cause.resource;
            }
        }
    }

    /// Remembers a value, unless its key was written very often.
    pub fn note_item(&mut self, item: ItemWritten) {
        let is_of = |known: &&ItemWritten| (&known.host, &known.key) == (&item.host, &item.key);
        let of_key = self.items.iter().filter(is_of).count();
        if of_key < MAX_WRITES && self.items.len() < MAX_ITEMS {
            self.items.push(item);
        }
    }

    pub fn cause(&self, url: &str) -> Option<&Cause> {
        self.causes.get(without_fragment(url))
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

/// The same account for the follower of the events and for the visit.
#[derive(Clone, Default)]
pub struct SharedSeen(Arc<Mutex<Seen>>);

impl SharedSeen {
    pub fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn main(&self) -> Option<String> {
        self.lock().main.clone()
    }
}
