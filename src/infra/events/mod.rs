//! Events for customers' servers. The code that causes an event reads the subscribers
//! ([`Events::subscribers`], cached), writes the event in its transaction ([`put`]), and notifies the
//! sender after the commit ([`Events::wake`]). Nothing is written for an account without endpoints.

mod event;
mod store;

use std::sync::Arc;
use std::time::Duration;

use sqlx::{PgConnection, PgPool};
use tokio::sync::Notify;

pub use self::event::{
    EventKind, EventRow, EventSelector, NewEvent, Subscriber, Subscribers, selects,
};
pub use self::store::{
    WrittenEvent, delete_events, delete_events_at, delete_events_of_accounts,
    delete_events_of_pixels, insert_events, release_events,
};
use super::cache::{Bounds, FreshCache};
use super::changes::{Changes, Topic};
use super::metrics::CacheMetrics;
use crate::error::Result;
use crate::types::ids::AccountId;

/// Maximum staleness of the cached endpoints if a notification is lost.
const LIFE: Duration = Duration::from_secs(30);
const MAX_ENTRIES: u64 = 10_000;

/// Caches the subscribers of each account. Clones share the cache.
#[derive(Clone)]
pub struct Events {
    pool: PgPool,
    subscribers: FreshCache<AccountId, Subscribers, 1>,
    pub written: Arc<Notify>,
}

impl Events {
    pub fn new(changes: Changes, pool: PgPool, metrics: CacheMetrics) -> Self {
        let bounds = Bounds::entries(MAX_ENTRIES, Some(LIFE));
        let subscribers = FreshCache::new(changes, metrics, bounds, |account_id: &AccountId, _| {
            [Topic::Account(account_id.as_str())]
        });
        Self { pool, subscribers, written: Arc::default() }
    }

    pub async fn subscribers(&self, account_id: &AccountId) -> Result<Subscribers> {
        self.subscribers.find(account_id, || self.read(account_id)).await
    }

    async fn read(&self, account_id: &AccountId) -> Result<Subscribers> {
        let mut connection = self.pool.acquire().await?;
        let endpoints = store::list_subscribers(&mut connection, account_id).await?;
        Ok(Subscribers::new(account_id.clone(), endpoints))
    }

    pub fn wake(&self) {
        self.written.notify_one();
    }
}

/// Writes events in the given order with one statement, or with none if there are no subscribers.
pub async fn put(
    connection: &mut PgConnection,
    subscribers: &Subscribers,
    events: &[NewEvent<'_>],
) -> Result<()> {
    let rows = events.iter().flat_map(|event| subscribers.rows_of(event)).collect::<Vec<_>>();
    match rows.is_empty() {
        true => Ok(()),
        false => store::insert_events(connection, &rows, Duration::ZERO).await.map(drop),
    }
}
