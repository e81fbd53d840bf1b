//! What happens is noted here for the servers of customers who want to be told.
//!
//! Whoever lets something happen asks beforehand who wants to know ([`Events::subscribers`], from
//! memory), writes what happened in the transaction that causes it ([`put`]), and after its commit
//! wakes those who send ([`Events::wake`]). For an account without endpoints nothing is written.

mod event;
pub mod store;

use std::sync::Arc;
use std::time::Duration;

use sqlx::{PgConnection, PgPool};
use tokio::sync::Notify;

pub use self::event::{EventKind, EventRow, NewEvent, Subscriber, Subscribers};
use super::cache::{Bounds, FreshCache};
use super::changes::{Changes, Topic};
use super::metrics::CacheMetrics;
use crate::error::Result;
use crate::types::ids::AccountId;

/// How long a node may go by what has changed, should the news of it not arrive.
const LIFE: Duration = Duration::from_secs(30);
const MAX_ENTRIES: u64 = 10_000;

/// Knows who wants to be told of what. Clones share what they know.
#[derive(Clone)]
pub struct Events {
    pool: PgPool,
    subscribers: FreshCache<AccountId, Subscribers, 1>,
    /// Told when something was written, so that it is sent soon.
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

    /// Who wants to be told of what happens in an account: from memory, which follows every change
    /// on every node.
    pub async fn subscribers(&self, account_id: &AccountId) -> Result<Subscribers> {
        self.subscribers.find(account_id, || self.read(account_id)).await
    }

    async fn read(&self, account_id: &AccountId) -> Result<Subscribers> {
        let mut connection = self.pool.acquire().await?;
        let endpoints = store::list_subscribers(&mut connection, account_id).await?;
        Ok(Subscribers::new(account_id.clone(), endpoints))
    }

    /// Something was written and has been committed.
    pub fn wake(&self) {
        self.written.notify_one();
    }
}

/// Writes what happened, in the order given and in the transaction that causes it, in one statement;
/// in none when nobody wants to know.
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
