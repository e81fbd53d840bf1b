use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::bundles::{Configured, Script};
use super::compressor::Compressor;
use super::prebuilt::{Prebuilt, SharedPrefixes};
use crate::error::{Error, Result};
use crate::infra::cache::{Bounds, Cache};
use crate::infra::metrics::CacheMetrics;
use crate::types::ids::PixelId;

const ENTRY_BYTES: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScriptKey {
    pub script: Script,
    pub lang: &'static str,
    /// For the consent tag: its pixel, and the fingerprint of what is served on it.
    pub site: Option<(PixelId, u64)>,
}

#[derive(Clone)]
pub struct ScriptCache {
    scripts: Cache<ScriptKey, Arc<Prebuilt>>,
    prefixes: Arc<SharedPrefixes>,
    builders: Arc<Semaphore>,
    compressor: Compressor,
    metrics: CacheMetrics,
}

impl ScriptCache {
    /// `max_mib` bounds the memory of all scripts in all encodings, in MiB, without their shared prefixes.
    pub fn new(max_mib: u64, metrics: CacheMetrics) -> Self {
        // The key contains all inputs, so entries never become stale.
        let bounds = Bounds { max_weight: max_mib << 20, weigh: bytes, life: None };
        let scripts = Cache::new(bounds);
        let prefixes = Arc::<SharedPrefixes>::default();
        let compressor = Compressor::start(Arc::clone(&prefixes));
        let builders = Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from)));
        Self { scripts, prefixes, builders, compressor, metrics }
    }

    /// Returns the script of a key, built by `build` at the first request, once for all waiting
    /// requests. The first answers are gzip; brotli follows in the background.
    pub async fn get(
        &self,
        key: ScriptKey,
        build: impl FnOnce() -> Result<Configured> + Send,
    ) -> Result<Arc<Prebuilt>> {
        let known = self.scripts.get(&key).await;
        self.metrics.count(known.is_some());
        let script = match known {
            Some(script) => script,
            None => Box::pin(self.build_once(key, build)).await?,
        };
        self.compressor.enqueue(&script);
        Ok(script)
    }

    async fn build_once(
        &self,
        key: ScriptKey,
        build: impl FnOnce() -> Result<Configured> + Send,
    ) -> Result<Arc<Prebuilt>> {
        let building = async {
            // More builders would not be faster, and each takes a third of a megabyte.
            let builder = Arc::clone(&self.builders).acquire_owned().await;
            let builder = builder.map_err(Error::internal)?;
            let (script, prefixes) = (build()?, Arc::clone(&self.prefixes));
            let built = spawn_blocking(move || {
                // Held until the script is built, even if the request was dropped.
                let _builder = builder;
                Prebuilt::new(&script, &prefixes)
            });
            let built = built.await;
            let built = built.map_err(Error::internal)?.map_err(Error::internal)?;
            Ok(Arc::new(built))
        };
        self.scripts.get_or_make(key, building).await
    }
}

/// The weight of an entry, including the brotli form to come; the allocator rounds up by an eighth.
fn bytes(script: &Arc<Prebuilt>) -> u32 {
    let bytes = 2 * script.gzip.rest.len() + ENTRY_BYTES;
    u32::try_from(bytes + bytes / 8).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;
    use crate::types::ids::random_text;

    fn configured(rest: &str) -> Configured {
        Configured {
            program: "var a=1,b=a+2,c=a*b;function d(e){return e*c}",
            rest: rest.to_owned(),
        }
    }

    fn key(pixel: usize) -> ScriptKey {
        let pixel = PixelId::parse(&format!("pixel-{pixel}")).unwrap();
        ScriptKey { script: Script::ConsentTag, lang: "en", site: Some((pixel, 1)) }
    }

    async fn is_built_anew(cache: &ScriptCache, pixel: usize) -> bool {
        let mut built = false;
        let build = || {
            built = true;
            Ok(configured(&random_text(4_000).repeat(4)))
        };
        cache.get(key(pixel), build).await.unwrap();
        cache.scripts.size().await;
        built
    }

    #[tokio::test]
    async fn the_cache_keeps_to_its_bytes_and_drops_what_was_requested_longest_ago() {
        let cache = ScriptCache::new(1, CacheMetrics::default());
        for pixel in 0..400 {
            is_built_anew(&cache, pixel).await;
            assert!(!is_built_anew(&cache, 0).await, "it was asked for a moment ago");
        }
        let (entries, bytes) = cache.scripts.size().await;
        assert!(bytes <= 1 << 20);
        assert!(entries > 60, "{entries}");
        assert!(!is_built_anew(&cache, 399).await);
        assert!(is_built_anew(&cache, 1).await);
    }

    #[tokio::test]
    async fn of_tags_only_what_differs_takes_room() {
        let cache = ScriptCache::new(1, CacheMetrics::default());
        let mut tags = Vec::new();
        for pixel in 0..400 {
            let build = || Script::ConsentTag.with_config(&random_text(600));
            tags.push(cache.get(key(pixel), build).await.unwrap());
        }
        let (entries, _) = cache.scripts.size().await;
        assert_eq!(entries, tags.len() as u64);
        assert!(tags.iter().all(|tag| Arc::ptr_eq(&tag.gzip.head, &tags[0].gzip.head)));
        let prefixes = SharedPrefixes::default();
        tags[0].compress(&prefixes).unwrap();
        assert!(tags[0].brotli.wait().rest.len() <= tags[0].gzip.rest.len());
    }

    #[tokio::test]
    async fn no_more_scripts_are_built_at_once_than_there_are_builders() {
        let cache = ScriptCache::new(1, CacheMetrics::default());
        let all = u32::try_from(cache.builders.available_permits()).unwrap();
        let at_work = cache.builders.acquire_many(all).await.unwrap();
        let begun = AtomicUsize::new(0);
        let build = || {
            begun.fetch_add(1, Ordering::Relaxed);
            Ok(configured("a"))
        };
        let waiting = cache.get(key(1), build);
        let waited = tokio::time::timeout(Duration::from_millis(50), waiting).await;
        assert!(waited.is_err() && begun.load(Ordering::Relaxed) == 0);
        drop(at_work);
        assert!(cache.get(key(1), build).await.is_ok());
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        assert_eq!(cache.builders.available_permits(), all as usize);
    }

    #[tokio::test]
    async fn a_script_that_many_ask_for_is_built_once() {
        let cache = ScriptCache::new(1, CacheMetrics::default());
        let built = AtomicUsize::new(0);
        let build = || {
            built.fetch_add(1, Ordering::Relaxed);
            Ok(configured("a"))
        };
        let answers = join_all((0..50).map(|_| cache.get(key(1), build))).await;
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(built.load(Ordering::Relaxed), 1);
    }
}
