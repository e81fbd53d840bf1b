//! Script bytes, built once and handed out as they are: plain, gzip and brotli.

use std::io::{Cursor, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use flate2::Compression;
use flate2::write::GzEncoder;
use foldhash::fast::RandomState;
use moka::future::Cache;
use moka::policy::EvictionPolicy;
use rocket::response::{self, Responder};
use rocket::{Request, Response};
use tokio::sync::mpsc;

use super::bundles::Script;
use crate::error::Result;
use crate::http::headers::header_of;
use crate::ids::PixelId;
use crate::platform::metrics::CacheMetrics;

/// Scripts that may wait for compression.
const QUEUE: usize = 1_000;
/// What an entry of the table takes besides its bytes.
const ENTRY_BYTES: usize = 500;

/// What a script is built from, and so what tells two of them apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScriptKey {
    pub script: Script,
    pub lang: &'static str,
    /// For the consent tag: its pixel, and what is to be said on it.
    pub site: Option<(PixelId, u64)>,
}

/// One script in all encodings.
pub struct Prebuilt {
    plain: Arc<[u8]>,
    gzip: OnceLock<Arc<[u8]>>,
    brotli: OnceLock<Arc<[u8]>>,
    /// Whether the compressor has been told.
    is_queued: AtomicBool,
}

impl Prebuilt {
    fn new(plain: Vec<u8>) -> Self {
        Self {
            plain: plain.into(),
            gzip: OnceLock::new(),
            brotli: OnceLock::new(),
            is_queued: AtomicBool::new(false),
        }
    }

    /// Fills in the compressed forms; takes some tens of milliseconds.
    fn compress(&self) -> std::io::Result<()> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&self.plain)?;
        let gzip = gzip.finish()?;
        let mut brotli = Vec::new();
        let params = brotli::enc::BrotliEncoderParams {
            quality: 11,
            lgwin: window_of(self.plain.len()),
            size_hint: self.plain.len(),
            ..Default::default()
        };
        brotli::BrotliCompress(&mut Cursor::new(&self.plain[..]), &mut brotli, &params)?;
        let _ = self.gzip.set(gzip.into());
        let _ = self.brotli.set(brotli.into());
        Ok(())
    }

    /// The best form that the reader accepts and that is ready.
    fn best(&self, accept_encoding: Option<&str>) -> (Option<&'static str>, Arc<[u8]>) {
        let forms = [("br", &self.brotli), ("gzip", &self.gzip)];
        forms
            .into_iter()
            .filter(|(encoding, _)| accepts(accept_encoding, encoding))
            .find_map(|(encoding, form)| Some((Some(encoding), Arc::clone(form.get()?))))
            .unwrap_or_else(|| (None, Arc::clone(&self.plain)))
    }
}

/// The smallest window that holds a whole text, as the power of two that brotli takes (RFC 7932,
/// section 9.1): the encoder's memory grows with its window, not with the text.
fn window_of(len: usize) -> i32 {
    (10..22).find(|&bits| (1_usize << bits) - 16 >= len).unwrap_or(22)
}

/// Whether `Accept-Encoding` names the encoding without ruling it out (RFC 9110, section 12.5.3).
fn accepts(header: Option<&str>, encoding: &str) -> bool {
    header.unwrap_or_default().split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        named && !refused
    })
}

/// The scripts that this node has built, the least recently used dropped first.
#[derive(Clone)]
pub struct ScriptTable {
    scripts: Cache<ScriptKey, Arc<Prebuilt>, RandomState>,
    to_compress: mpsc::Sender<Weak<Prebuilt>>,
    metrics: CacheMetrics,
}

impl ScriptTable {
    /// `max_mib` bounds the memory of all scripts in all encodings, in MiB.
    pub fn new(max_mib: u64, metrics: CacheMetrics) -> Self {
        let weigh = |_: &ScriptKey, script: &Arc<Prebuilt>| {
            // The compressed forms together are smaller than the plain one; an eighth is what the
            // allocator loses by rounding up.
            let bytes = 2 * script.plain.len() + ENTRY_BYTES;
            u32::try_from(bytes + bytes / 8).unwrap_or(u32::MAX)
        };
        let scripts = Cache::builder()
            .max_capacity(max_mib << 20)
            .weigher(weigh)
            .eviction_policy(EvictionPolicy::lru())
            .build_with_hasher(RandomState::default());
        let (to_compress, queue) = mpsc::channel(QUEUE);
        std::thread::spawn(move || compress_all(queue));
        Self { scripts, to_compress, metrics }
    }

    /// The script of a key, built by `build` when it is asked for the first time. Until it is
    /// compressed, which happens aside, it goes out plain.
    pub async fn get(
        &self,
        key: ScriptKey,
        build: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<PrebuiltScript> {
        let known = self.scripts.get(&key).await;
        self.metrics.count(known.is_some());
        let script = match known {
            Some(script) => script,
            None => {
                let script = Arc::new(Prebuilt::new(build()?));
                Box::pin(self.scripts.get_with(key, async move { script })).await
            }
        };
        if !script.is_queued.load(Ordering::Relaxed) {
            self.queue(&script);
        }
        Ok(PrebuiltScript(script))
    }

    /// When there is no room, whoever asks for the script next tries again.
    fn queue(&self, script: &Arc<Prebuilt>) {
        if !script.is_queued.swap(true, Ordering::Relaxed)
            && self.to_compress.try_send(Arc::downgrade(script)).is_err()
        {
            script.is_queued.store(false, Ordering::Relaxed);
        }
    }
}

/// Compresses one script after the other, on a thread of its own: the strongest compression takes
/// tens of milliseconds of a processor, and visitors of other pixels must not wait for it.
fn compress_all(mut queue: mpsc::Receiver<Weak<Prebuilt>>) {
    while let Some(script) = queue.blocking_recv() {
        // One that has been dropped meanwhile needs no compression.
        let Some(script) = script.upgrade() else { continue };
        if let Err(error) = script.compress() {
            tracing::error!(%error, "a script could not be compressed");
        }
    }
}

/// A script on its way to a page.
pub struct PrebuiltScript(Arc<Prebuilt>);

impl<'r> Responder<'r, 'static> for PrebuiltScript {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let accepted = header_of(request.headers(), "Accept-Encoding");
        let (encoding, bytes) = self.0.best(accepted.as_deref());
        let mut response = Response::build();
        response
            .raw_header("Content-Type", "application/javascript; charset=utf-8")
            .raw_header("Cache-Control", "no-store")
            .raw_header("Vary", "Accept-Encoding, Accept-Language");
        if let Some(encoding) = encoding {
            response.raw_header("Content-Encoding", encoding);
        }
        // In one piece: Rocket would cut it into pieces of 4 KiB, each written by itself. One byte
        // more, so that it sees the end without making room for another.
        let whole = bytes.len() + 1;
        response.sized_body(bytes.len(), Cursor::new(bytes)).max_chunk_size(whole).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_accepted_form_is_served_once_it_is_ready() {
        let script = Prebuilt::new(b"var a=1;".repeat(100));
        assert_eq!(script.best(Some("br, gzip")).0, None);
        script.compress().unwrap();
        assert_eq!(script.best(Some("gzip, deflate, br")).0, Some("br"));
        assert_eq!(script.best(Some("GZIP;q=0.5")).0, Some("gzip"));
        assert_eq!(script.best(Some("br;q=0, gzip")).0, Some("gzip"));
        assert_eq!(script.best(Some("identity")).0, None);
        assert_eq!(script.best(None).0, None);
        assert!(script.best(Some("gzip")).1.len() < script.plain.len());
    }

    /// As of a pixel's tag; says whether it had to be built.
    async fn is_built_anew(table: &ScriptTable, pixel: usize) -> bool {
        let pixel = PixelId::parse(&format!("pixel-{pixel}")).unwrap();
        let key = ScriptKey { script: Script::ConsentTag, lang: "en", site: Some((pixel, 1)) };
        let mut built = false;
        let build = || {
            built = true;
            Ok(vec![b' '; 10_000])
        };
        table.get(key, build).await.unwrap();
        table.scripts.run_pending_tasks().await;
        built
    }

    #[tokio::test]
    async fn the_table_keeps_to_its_bytes_and_drops_what_was_asked_for_longest_ago() {
        let table = ScriptTable::new(1, CacheMetrics::default());
        for pixel in 0..10_000 {
            is_built_anew(&table, pixel).await;
            assert!(!is_built_anew(&table, 0).await, "it was asked for a moment ago");
        }
        assert!(table.scripts.weighted_size() <= 1 << 20);
        assert!(table.scripts.entry_count() > 40);
        assert!(!is_built_anew(&table, 9_999).await);
        assert!(is_built_anew(&table, 1).await);
    }
}
