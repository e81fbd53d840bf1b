use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use moka::future::Cache as Entries;
use moka::policy::EvictionPolicy;

use crate::error::{Error, Result};

pub struct Bounds<V> {
    /// Maximum total weight of all entries; the least recently used entries are evicted first.
    pub max_weight: u64,
    /// The weight of a value in the unit of `max_weight`: bytes, or 1 to count entries.
    pub weigh: fn(&V) -> u32,
    pub life: Option<Duration>,
}

impl<V> Bounds<V> {
    pub fn entries(max: u64, life: Option<Duration>) -> Self {
        Self { max_weight: max, weigh: |_| 1, life }
    }
}

/// A cache by key. Clones share the entries. Reads clone the value, so large values belong in an `Arc`.
#[derive(Clone)]
pub struct Cache<K, V> {
    entries: Entries<K, V, RandomState>,
}

impl<K, V> Cache<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub fn new(bounds: Bounds<V>) -> Self {
        Self::weighed(bounds.max_weight, bounds.life, bounds.weigh)
    }

    pub(super) fn weighed(
        max_weight: u64,
        life: Option<Duration>,
        weigh: impl Fn(&V) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let entries = Entries::builder()
            .max_capacity(max_weight)
            .weigher(move |_, value| weigh(value))
            .eviction_policy(EvictionPolicy::lru());
        let entries = match life {
            Some(life) => entries.time_to_live(life),
            None => entries,
        };
        Self { entries: entries.build_with_hasher(RandomState::default()) }
    }

    pub async fn get(&self, key: &K) -> Option<V> {
        self.entries.get(key).await
    }

    pub fn contains(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    pub async fn insert(&self, key: K, value: V) {
        self.entries.insert(key, value).await;
    }

    pub async fn remove(&self, key: &K) {
        self.entries.invalidate(key).await;
    }

    /// The value of a key. A missing value is made once for all concurrent callers.
    pub async fn get_or_insert_with(&self, key: K, make: impl Future<Output = V> + Send) -> V {
        self.entries.get_with(key, make).await
    }

    /// Like [`Cache::get_or_insert_with`], but may fail. All waiting callers get the error; it is not cached.
    pub async fn get_or_make(
        &self,
        key: K,
        make: impl Future<Output = Result<V>> + Send,
    ) -> Result<V> {
        let made = self.entries.try_get_with(key, make).await;
        made.map_err(|error: Arc<Error>| error.for_another())
    }

    pub(super) async fn get_or_renew(
        &self,
        key: &K,
        make: impl Future<Output = V> + Send,
        is_stale: impl Fn(&V) -> bool + Send,
    ) -> V {
        self.entries.entry_by_ref(key).or_insert_with_if(make, is_stale).await.into_value()
    }

    #[cfg(test)]
    pub async fn size(&self) -> (u64, u64) {
        self.entries.run_pending_tasks().await;
        (self.entries.entry_count(), self.entries.weighted_size())
    }
}

impl<V: Clone + Send + Sync + 'static> Cache<String, V> {
    pub async fn get_all_or_read<'a, F>(
        &self,
        keys: &[&'a str],
        read: impl FnOnce(Vec<&'a str>) -> F + Send,
    ) -> Result<HashMap<String, V>>
    where
        F: Future<Output = Result<Vec<(String, V)>>> + Send,
    {
        let (mut known, mut unknown) = (HashMap::new(), Vec::new());
        for &key in keys.iter().collect::<BTreeSet<_>>() {
            let owned = key.to_owned();
            match self.get(&owned).await {
                Some(value) => _ = known.insert(owned, value),
                None => unknown.push(key),
            }
        }
        if !unknown.is_empty() {
            for (key, value) in read(unknown).await? {
                self.insert(key.clone(), value.clone()).await;
                known.insert(key, value);
            }
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    fn cache(life: Option<Duration>) -> Cache<usize, usize> {
        Cache::new(Bounds::entries(10, life))
    }

    #[tokio::test]
    async fn a_value_that_many_miss_is_made_once() {
        let (cache, made) = (cache(None), AtomicUsize::new(0));
        let make = || async {
            tokio::task::yield_now().await;
            Ok(made.fetch_add(1, Ordering::Relaxed))
        };
        let found = join_all((0..50).map(|_| cache.get_or_make(1, make()))).await;
        assert!(found.into_iter().all(|found| found.ok() == Some(0)));
    }

    #[tokio::test]
    async fn an_error_is_not_remembered() {
        let cache = cache(None);
        let failed = cache.get_or_make(1, async { Err(Error::DatabaseUnavailable) }).await;
        assert!(matches!(failed, Err(Error::DatabaseUnavailable)));
        assert_eq!(cache.get_or_make(1, async { Ok(1) }).await.ok(), Some(1));
    }

    #[tokio::test]
    async fn what_was_used_longest_ago_goes_first() {
        let cache = cache(None);
        for key in 0..20 {
            cache.insert(key, key).await;
            assert_eq!(cache.get(&0).await, Some(0));
            assert!(cache.size().await.0 <= 10);
        }
        assert!(cache.contains(&19) && !cache.contains(&1));
    }

    #[tokio::test]
    async fn what_has_lived_its_time_or_was_removed_is_gone() {
        let cache = cache(Some(Duration::from_millis(20)));
        cache.insert(1, 1).await;
        cache.insert(2, 2).await;
        cache.remove(&2).await;
        assert!(cache.contains(&1) && !cache.contains(&2));
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert_eq!(cache.get(&1).await, None);
    }
}
