use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::causes::{Cause, OTHER};
use super::items::{ItemWritten, Items};
use crate::browser::site::{shortened, without_fragment};

/// Requests beyond this number have no cause; they are in the network log only.
const MAX_CAUSES: usize = 20_000;

const MAX_ORIGINS: usize = 100;
const MAX_SOCKETS: usize = 1000;

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

#[derive(Clone, Debug)]
pub struct MessageSent {
    pub url: String,
    pub at_ms: f64,
}

#[derive(Debug, Default)]
pub struct Seen {
    pub main: Option<String>,
    /// Target ids of pages, with their sessions.
    pub targets: Vec<(String, String)>,
    pub documents: BTreeSet<String>,
    pub document: Document,
    pub tags: Vec<TagScript>,
    pub workers: BTreeSet<String>,
    /// Origins of documents that were shown.
    pub origins: BTreeSet<String>,
    pub items: Items,
    /// The latest message of each WebSocket.
    pub messages: HashMap<String, MessageSent>,
    causes: HashMap<String, Cause>,
    pub pages: usize,
    pub has_crashed: bool,
    /// Data that a verdict needs was dropped because a limit was reached.
    pub is_cut: bool,
    pub received: u64,
    pub main_request: Option<String>,
    pub main_frame: Option<String>,
}

impl Seen {
    pub fn record_cause(&mut self, url: &str, cause: Cause) {
        if self.causes.len() < MAX_CAUSES && !url.starts_with("data:") {
            let url = without_fragment(shortened(url));
            // A preflight request has the address of the request that it precedes.
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

    pub fn record_origin(&mut self, origin: &str) {
        if !origin.starts_with("http") || self.origins.contains(origin) {
            return;
        }
        if self.origins.len() < MAX_ORIGINS {
            self.origins.insert(origin.to_owned());
        } else {
            self.is_cut = true;
        }
    }

    pub fn record_socket(&mut self, request: String, url: String) {
        if self.messages.len() < MAX_SOCKETS {
            self.messages.insert(request, MessageSent { url, at_ms: 0.0 });
        } else {
            self.is_cut = true;
        }
    }

    pub fn record_item(&mut self, item: ItemWritten) {
        self.is_cut |= !self.items.record(item);
    }

    pub fn cause(&self, url: &str) -> Option<&Cause> {
        self.causes.get(without_fragment(url))
    }
}

/// Shares one [`Seen`] between the event handler and the visit.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_with_more_values_than_are_kept_is_cut() {
        let mut seen = Seen::default();
        let item = |at: usize| {
            let (host, key) = ("shop.test".to_owned(), "key".to_owned());
            ItemWritten { host, key, value: format!("v{at}"), at_ms: 1.0 }
        };
        seen.record_item(item(0));
        assert!(!seen.is_cut);
        for at in 1..1000 {
            seen.record_item(item(at));
        }
        seen.record_item(item(0));
        assert!(seen.is_cut, "once cut, it remains so");
    }
}
