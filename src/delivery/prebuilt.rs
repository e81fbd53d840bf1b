//! Script bytes, built once and handed out as they are: gzip and brotli.

use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::available_parallelism;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;

use super::bundles::{Configured, Script};
use crate::error::{Error, Result};
use crate::infra::cache::{Bounds, Cache};
use crate::infra::compression::{Encoding, InTwo, brotli_in_two, gunzip, gzip_in_two};
use crate::infra::metrics::CacheMetrics;
use crate::types::ids::PixelId;

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

/// The beginnings of scripts, compressed. Scripts differ in their configuration, which comes last, so that all of
/// one kind have one: it is kept once.
#[derive(Default)]
struct Beginnings(Mutex<HashSet<Arc<[u8]>>>);

impl Beginnings {
    fn kept(&self, bytes: Vec<u8>) -> Arc<[u8]> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&bytes[..]) {
            return Arc::clone(known);
        }
        let bytes = Arc::from(bytes);
        all.insert(Arc::clone(&bytes));
        bytes
    }

    fn form(&self, InTwo { head, rest }: InTwo) -> Form {
        Form { head: self.kept(head), rest: rest.into() }
    }
}

/// A script in one encoding, in two pieces.
#[derive(Clone)]
pub struct Form {
    head: Arc<[u8]>,
    rest: Arc<[u8]>,
}

impl Form {
    /// One after the other.
    pub fn pieces(&self) -> [&[u8]; 2] {
        [&self.head, &self.rest]
    }
}

/// One script as it is sent. Its plain text, which few ask for, is made from the gzip.
pub struct Prebuilt {
    program: &'static str,
    gzip: Form,
    brotli: OnceLock<Form>,
    /// Whether the compressor has been told.
    is_queued: AtomicBool,
}

impl Prebuilt {
    fn new(script: &Configured, beginnings: &Beginnings) -> io::Result<Self> {
        let gzip = gzip_in_two(script.program.as_bytes(), script.rest.as_bytes())?;
        Ok(Self {
            program: script.program,
            gzip: beginnings.form(gzip),
            brotli: OnceLock::new(),
            is_queued: AtomicBool::new(false),
        })
    }

    /// Fills in the smallest form; takes some tens of milliseconds.
    fn compress(&self, beginnings: &Beginnings) -> io::Result<()> {
        let plain = self.plain()?;
        let (program, rest) = plain.split_at(self.program.len());
        let _ = self.brotli.set(beginnings.form(brotli_in_two(program, rest)?));
        Ok(())
    }

    pub fn plain(&self) -> io::Result<Vec<u8>> {
        let [head, rest] = self.gzip.pieces();
        gunzip(head.chain(rest))
    }

    /// The best form that the reader accepts and that is ready; `None` is the plain text.
    pub fn best(&self, accept_encoding: Option<&str>) -> Option<(Encoding, &Form)> {
        let forms = [(Encoding::Brotli, self.brotli.get()), (Encoding::Gzip, Some(&self.gzip))];
        let ready = forms.into_iter().filter_map(|(encoding, form)| Some((encoding, form?)));
        ready.into_iter().find(|(encoding, _)| encoding.is_accepted(accept_encoding))
    }
}

/// The scripts that this node has built, the least recently used dropped first.
#[derive(Clone)]
pub struct ScriptTable {
    scripts: Cache<ScriptKey, Arc<Prebuilt>>,
    beginnings: Arc<Beginnings>,
    builders: Arc<Semaphore>,
    to_compress: mpsc::Sender<Weak<Prebuilt>>,
    metrics: CacheMetrics,
}

impl ScriptTable {
    /// `max_mib` bounds the memory of all scripts in all encodings, in MiB, without their beginnings.
    pub fn new(max_mib: u64, metrics: CacheMetrics) -> Self {
        // What a script is built from is its key, so that none ever grows old.
        let bounds = Bounds { max_weight: max_mib << 20, weigh: bytes, life: None };
        let scripts = Cache::new(bounds);
        let beginnings = Arc::<Beginnings>::default();
        let (to_compress, queue) = mpsc::channel(QUEUE);
        let theirs = Arc::clone(&beginnings);
        std::thread::spawn(move || compress_all(queue, &theirs));
        let builders = Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from)));
        Self { scripts, beginnings, builders, to_compress, metrics }
    }

    /// The script of a key, built by `build` when it is asked for the first time: once, for all who
    /// ask meanwhile. The first answers are gzip; the smallest form is made aside.
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
        if !script.is_queued.load(Ordering::Relaxed) {
            self.queue(&script);
        }
        Ok(script)
    }

    async fn build_once(
        &self,
        key: ScriptKey,
        build: impl FnOnce() -> Result<Configured> + Send,
    ) -> Result<Arc<Prebuilt>> {
        let building = async {
            // More at once would not be built sooner, and each takes a third of a megabyte meanwhile.
            let builder = Arc::clone(&self.builders).acquire_owned().await;
            let builder = builder.map_err(Error::internal)?;
            let (script, beginnings) = (build()?, Arc::clone(&self.beginnings));
            let built = spawn_blocking(move || {
                // Held until it is built, also when nobody waits for it any more.
                let _builder = builder;
                Prebuilt::new(&script, &beginnings)
            });
            let built = built.await;
            let built = built.map_err(Error::internal)?.map_err(Error::internal)?;
            Ok(Arc::new(built))
        };
        self.scripts.get_or_make(key, building).await
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

/// What an entry takes: the smallest form, whether it is there yet or not, is smaller than the gzip; an
/// eighth is what the allocator loses by rounding up.
fn bytes(script: &Arc<Prebuilt>) -> u32 {
    let bytes = 2 * script.gzip.rest.len() + ENTRY_BYTES;
    u32::try_from(bytes + bytes / 8).unwrap_or(u32::MAX)
}

/// Compresses one script after the other, on a thread of its own that gets little of a processor which the
/// rest of the program wants: the strongest compression takes tens of milliseconds, minutes for all sites of a
/// node that has just started, and visitors must not wait for it. On a busy node they get gzip for longer.
fn compress_all(mut queue: mpsc::Receiver<Weak<Prebuilt>>, beginnings: &Beginnings) {
    give_way();
    while let Some(script) = queue.blocking_recv() {
        // One that has been dropped meanwhile needs no compression.
        let Some(script) = script.upgrade() else { continue };
        if let Err(error) = script.compress(beginnings) {
            tracing::error!(%error, "a script could not be compressed");
        }
    }
}

/// The compressor's nice value, unless the program's own is higher: with it a thread gets a tenth of what an
/// ordinary one does (`sched(7)`), also on a machine that is always busy.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// A weak priority for the thread that calls this; it is a thread's own on Linux only.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};

        let given = getpriority_process(None);
        let given = given.and_then(|now| setpriority_process(None, NICE.max(now)));
        if let Err(error) = given {
            tracing::warn!(%error, "the compression of scripts could not be given a lower priority");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures_util::future::join_all;

    use super::*;
    use crate::types::ids::random_text;

    fn configured(rest: &str) -> Configured {
        let program = "var a=1,b=a+2,c=a*b;function d(e){return e*c}";
        Configured { program, rest: rest.to_owned() }
    }

    #[test]
    fn what_scripts_have_in_common_is_kept_once_and_each_is_still_itself() {
        let beginnings = Beginnings::default();
        let rests = ["", "d(1)", "d(2)"];
        let scripts = rests.map(|rest| Prebuilt::new(&configured(rest), &beginnings).unwrap());
        for (script, rest) in scripts.iter().zip(rests) {
            script.compress(&beginnings).unwrap();
            assert_eq!(script.plain().unwrap(), configured(rest).text().into_bytes());
            let (_, brotli) = script.best(Some("br")).unwrap();
            let mut plain = Vec::new();
            brotli::BrotliDecompress(&mut &brotli.pieces().concat()[..], &mut plain).unwrap();
            assert_eq!(plain, configured(rest).text().into_bytes());
        }
        // One for each encoding.
        assert_eq!(beginnings.0.lock().unwrap().len(), 2);
    }

    #[test]
    fn the_smallest_accepted_form_is_served_once_it_is_ready() {
        let beginnings = Beginnings::default();
        let script = Prebuilt::new(&configured("a"), &beginnings).unwrap();
        let served = |accepted| script.best(accepted).map(|(encoding, _)| encoding);
        assert_eq!(served(Some("br, gzip")), Some(Encoding::Gzip));
        assert_eq!(served(Some("br")), None);
        script.compress(&beginnings).unwrap();
        assert_eq!(served(Some("gzip, deflate, br")), Some(Encoding::Brotli));
        assert_eq!(served(Some("br;q=0, gzip")), Some(Encoding::Gzip));
        assert_eq!(served(None), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn whoever_compresses_gives_way_to_all_others() {
        use rustix::process::getpriority_process;

        let beginnings = Beginnings::default();
        let script = Arc::new(Prebuilt::new(&configured("a"), &beginnings).unwrap());
        let (to_compress, queue) = mpsc::channel(1);
        to_compress.try_send(Arc::downgrade(&script)).unwrap();
        drop(to_compress);
        let usual = getpriority_process(None).unwrap();
        let compressing = std::thread::spawn(move || {
            compress_all(queue, &beginnings);
            getpriority_process(None).unwrap()
        });
        assert_eq!(compressing.join().unwrap(), NICE.max(usual));
        assert_eq!(script.best(Some("br")).unwrap().0, Encoding::Brotli);
        assert_eq!(getpriority_process(None).unwrap(), usual);
    }

    fn key(pixel: usize) -> ScriptKey {
        let pixel = PixelId::parse(&format!("pixel-{pixel}")).unwrap();
        ScriptKey { script: Script::ConsentTag, lang: "en", site: Some((pixel, 1)) }
    }

    /// As of a pixel's tag; says whether it had to be built.
    async fn is_built_anew(table: &ScriptTable, pixel: usize) -> bool {
        let mut built = false;
        let build = || {
            built = true;
            Ok(configured(&random_text(4_000).repeat(4)))
        };
        table.get(key(pixel), build).await.unwrap();
        table.scripts.size().await;
        built
    }

    #[tokio::test]
    async fn the_table_keeps_to_its_bytes_and_drops_what_was_asked_for_longest_ago() {
        let table = ScriptTable::new(1, CacheMetrics::default());
        for pixel in 0..400 {
            is_built_anew(&table, pixel).await;
            assert!(!is_built_anew(&table, 0).await, "it was asked for a moment ago");
        }
        let (entries, bytes) = table.scripts.size().await;
        assert!(bytes <= 1 << 20);
        // With their plain texts 28 would fit.
        assert!(entries > 60, "{entries}");
        assert!(!is_built_anew(&table, 399).await);
        assert!(is_built_anew(&table, 1).await);
    }

    #[tokio::test]
    async fn of_tags_only_what_differs_takes_room() {
        let table = ScriptTable::new(1, CacheMetrics::default());
        let mut tags = Vec::new();
        for pixel in 0..400 {
            let build = || Script::ConsentTag.with_config(&random_text(600));
            tags.push(table.get(key(pixel), build).await.unwrap());
        }
        // With their beginnings 60 would fit.
        let (entries, _) = table.scripts.size().await;
        assert_eq!(entries, tags.len() as u64);
        assert!(tags.iter().all(|tag| Arc::ptr_eq(&tag.gzip.head, &tags[0].gzip.head)));
        // The weight of an entry takes this for granted.
        let beginnings = Beginnings::default();
        tags[0].compress(&beginnings).unwrap();
        assert!(tags[0].brotli.wait().rest.len() <= tags[0].gzip.rest.len());
    }

    #[tokio::test]
    async fn a_script_that_many_ask_for_is_built_once() {
        let table = ScriptTable::new(1, CacheMetrics::default());
        let built = AtomicUsize::new(0);
        let build = || {
            built.fetch_add(1, Ordering::Relaxed);
            Ok(configured("a"))
        };
        let answers = join_all((0..50).map(|_| table.get(key(1), build))).await;
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(built.load(Ordering::Relaxed), 1);
    }
}
