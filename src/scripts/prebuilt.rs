//! Script bytes, built once and handed out as they are: plain, gzip and brotli.

use std::io::{Cursor, Write};
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use flate2::write::GzEncoder;
use moka::future::Cache;
use rocket::http::{ContentType, Header};
use rocket::response::{self, Responder};
use rocket::{Request, Response};

use super::bundles::Script;
use crate::error::Result;
use crate::ids::PixelId;
use crate::platform::metrics::CacheMetrics;

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
}

impl Prebuilt {
    fn new(plain: Vec<u8>) -> Self {
        Self { plain: plain.into(), gzip: OnceLock::new(), brotli: OnceLock::new() }
    }

    /// Fills in the compressed forms; takes some tens of milliseconds.
    fn compress(&self) -> std::io::Result<()> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&self.plain)?;
        let gzip = gzip.finish()?;
        let mut brotli = Vec::new();
        let params =
            brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
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
    scripts: Cache<ScriptKey, Arc<Prebuilt>>,
    metrics: CacheMetrics,
}

impl ScriptTable {
    /// `max_mib` bounds the bytes of all scripts in all encodings, in MiB.
    pub fn new(max_mib: u64, metrics: CacheMetrics) -> Self {
        // The compressed forms together are smaller than the plain one.
        let weigh = |_: &ScriptKey, script: &Arc<Prebuilt>| {
            u32::try_from(2 * script.plain.len()).unwrap_or(u32::MAX)
        };
        let scripts = Cache::builder().max_capacity(max_mib << 20).weigher(weigh).build();
        Self { scripts, metrics }
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
        if let Some(script) = known {
            return Ok(PrebuiltScript(script));
        }
        let script = Arc::new(Prebuilt::new(build()?));
        let script = self.scripts.get_with(key, async move {
            let compressed = Arc::clone(&script);
            tokio::task::spawn_blocking(move || {
                if let Err(error) = compressed.compress() {
                    tracing::error!(%error, "a script could not be compressed");
                }
            });
            script
        });
        Ok(PrebuiltScript(script.await))
    }
}

/// A script on its way to a page.
pub struct PrebuiltScript(Arc<Prebuilt>);

impl<'r> Responder<'r, 'static> for PrebuiltScript {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let (encoding, bytes) = self.0.best(request.headers().get_one("Accept-Encoding"));
        let mut response = Response::build();
        response
            .header(ContentType::new("application", "javascript").with_params(("charset", "utf-8")))
            .raw_header("Cache-Control", "no-store")
            .raw_header("Vary", "Accept-Encoding, Accept-Language");
        if let Some(encoding) = encoding {
            response.header(Header::new("Content-Encoding", encoding));
        }
        response.sized_body(bytes.len(), Cursor::new(bytes)).ok()
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
}
