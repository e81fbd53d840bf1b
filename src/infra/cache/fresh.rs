//! In-memory caches of values from the database. An entry is invalidated as soon as any node commits a change
//! to it ([`crate::infra::changes`]), and expires after some seconds, because a notification may be lost.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::bounded::{Bounds, Cache};
use crate::error::{Error, Result};
use crate::infra::changes::{Changes, Slot, Topic, Version};
use crate::infra::metrics::CacheMetrics;

const READ_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5_000 });

type Topics<K, V, const N: usize> = for<'a> fn(&'a K, &'a V) -> [Topic<'a>; N];

#[derive(Clone)]
struct Entry<V, const N: usize> {
    read_version: Version,
    slots: [Slot; N],
    value: V,
}

/// An error is returned to all concurrent callers, but counts as stale for later ones.
type Reading<V, const N: usize> = Result<Entry<V, N>, Arc<Error>>;

/// A cache of values by key, each invalidated by changes of any of `N` topics. Clones share the entries.
#[derive(Clone)]
pub struct FreshCache<K, V, const N: usize> {
    changes: Changes,
    topics: Topics<K, V, N>,
    entries: Cache<K, Reading<V, N>>,
    metrics: CacheMetrics,
}

impl<K, V, const N: usize> FreshCache<K, V, N>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub fn new(
        changes: Changes,
        metrics: CacheMetrics,
        bounds: Bounds<V>,
        topics: Topics<K, V, N>,
    ) -> Self {
        let Bounds { max_weight, weigh, life } = bounds;
        let entries = Cache::weighed(max_weight, life, move |reading: &Reading<V, N>| {
            reading.as_ref().map_or(1, |entry| weigh(&entry.value))
        });
        Self { changes, topics, entries, metrics }
    }

    /// The value of a key; calls `read` when it is not cached. Fails with the errors of `read`,
    /// which are not cached, and with [`Error::DatabaseUnavailable`] after [`READ_TIMEOUT`].
    pub async fn find<R>(&self, key: &K, read: impl Fn() -> R + Send + Sync) -> Result<V>
    where
        R: Future<Output = Result<V>> + Send,
    {
        let reading = self.entries.get(key).await;
        let entry = reading.and_then(Result::ok).filter(|entry| self.is_current(entry));
        self.metrics.count(entry.is_some());
        if let Some(entry) = entry {
            return Ok(entry.value);
        }
        // Boxed, because this is rare, and Rocket moves the whole future of a route once per request.
        Box::pin(self.read_once(key, read)).await
    }

    pub async fn find_known(&self, key: &K) -> Option<V> {
        let reading = self.entries.get(key).await?;
        reading.ok().map(|entry| entry.value)
    }

    fn is_current(&self, entry: &Entry<V, N>) -> bool {
        self.changes.is_current(entry.read_version, entry.slots)
    }

    /// Reads a value once for all concurrent callers. A caller that arrives after a change does not accept a
    /// read that began before the change; it waits for the next read, which serves all callers waiting then.
    async fn read_once<R>(&self, key: &K, read: impl Fn() -> R + Send + Sync) -> Result<V>
    where
        R: Future<Output = Result<V>> + Send,
    {
        let asked_version = self.changes.version();
        let is_late_enough =
            |entry: &Entry<V, N>| entry.read_version >= asked_version || self.is_current(entry);
        let is_stale = |reading: &Reading<V, N>| !reading.as_ref().is_ok_and(is_late_enough);
        loop {
            // Boxed, because the future of every waiting task would otherwise reserve memory for it several times.
            let reading = async { Box::pin(self.read(key, &read)).await.map_err(Arc::new) };
            let reading = self.entries.get_or_renew(key, reading, is_stale).await;
            let entry = reading.map_err(|error| error.for_another())?;
            if is_late_enough(&entry) {
                return Ok(entry.value);
            }
        }
    }

    async fn read<R>(&self, key: &K, read: impl Fn() -> R + Send) -> Result<Entry<V, N>>
    where
        R: Future<Output = Result<V>> + Send,
    {
        let read_version = self.changes.version();
        // All callers wait for this one read, so it needs a time limit.
        let value =
            timeout(READ_TIMEOUT, read()).await.map_err(|_| Error::DatabaseUnavailable)??;
        let slots = (self.topics)(key, &value).map(|topic| self.changes.slot(topic));
        Ok(Entry { read_version, slots, value })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::{join, join_all};
    use prometheus_client::metrics::gauge::Gauge;
    use tokio::sync::oneshot;

    use super::*;
    use crate::infra::changes::Invalidation;
    use crate::types::ids::PixelId;

    fn cache() -> FreshCache<&'static str, usize, 1> {
        let bounds = Bounds::entries(10, Some(Duration::from_secs(60)));
        let changes = Changes::new(Gauge::default());
        FreshCache::new(changes, CacheMetrics::default(), bounds, |name, _| [Topic::Pixel(name)])
    }

    fn invalidation_of(name: &str) -> Invalidation {
        Invalidation::of_pixel(&PixelId::from(name.to_owned()))
    }

    #[tokio::test]
    async fn a_value_that_many_miss_is_read_once() {
        let (cache, readings) = (cache(), AtomicUsize::new(0));
        let read = || async {
            tokio::task::yield_now().await;
            Ok(readings.fetch_add(1, Ordering::Relaxed))
        };
        let found = join_all((0..50).map(|_| cache.find(&"shop", read))).await;
        assert!(found.into_iter().all(|found| found.ok() == Some(0)));
        assert_eq!(cache.find(&"other", read).await.ok(), Some(1));
    }

    #[tokio::test]
    async fn an_invalidation_drops_its_value_and_no_other() {
        let (cache, readings) = (cache(), AtomicUsize::new(0));
        let read = || async { Ok(readings.fetch_add(1, Ordering::Relaxed)) };
        assert_eq!(cache.find(&"shop", read).await.ok(), Some(0));
        cache.changes.invalidate(&invalidation_of("other"));
        assert_eq!(cache.find(&"shop", read).await.ok(), Some(0));
        cache.changes.invalidate(&invalidation_of("shop"));
        assert_eq!(cache.find(&"shop", read).await.ok(), Some(1));
    }

    #[tokio::test]
    async fn who_asks_after_a_change_does_not_get_what_was_read_before_it() {
        let cache = cache();
        let (begun, has_begun) = oneshot::channel();
        let (resume, may_resume) = oneshot::channel();
        let pauses = std::sync::Mutex::new(Some((begun, may_resume)));
        let slow = || async {
            let pause = pauses.lock().unwrap().take();
            let Some((begun, may_resume)) = pause else { return Ok(2) };
            begun.send(()).unwrap();
            may_resume.await.unwrap();
            Ok(1)
        };
        let after_the_change = async {
            has_begun.await.unwrap();
            cache.changes.invalidate(&invalidation_of("shop"));
            let asking = cache.find(&"shop", || async { Ok(2) });
            join(asking, async { resume.send(()).unwrap() }).await.0
        };
        let (before, after) = join(cache.find(&"shop", slow), after_the_change).await;
        assert_eq!((before.ok(), after.ok()), (Some(1), Some(2)));
    }

    #[test]
    fn who_waits_for_a_reading_holds_no_room_for_it() {
        let cache = cache();
        let large = || async {
            let room = [0; 10_000];
            tokio::task::yield_now().await;
            Ok(room.len())
        };
        assert!(size_of_val(&cache.read_once(&"shop", large)) < 5_000);
    }

    #[tokio::test]
    async fn an_error_is_not_remembered() {
        let cache = cache();
        let failed = cache.find(&"shop", || async { Err(Error::DatabaseUnavailable) }).await;
        assert!(matches!(failed, Err(Error::DatabaseUnavailable)));
        assert_eq!(cache.find(&"shop", || async { Ok(1) }).await.ok(), Some(1));
    }

    #[tokio::test]
    async fn a_reading_that_hangs_is_given_up() {
        let failed = cache().find(&"shop", pending).await;
        assert!(matches!(failed, Err(Error::DatabaseUnavailable)));
    }
}
