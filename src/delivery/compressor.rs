//! Brotli compression of scripts in a background thread.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;

use super::prebuilt::{Prebuilt, SharedPrefixes};

const QUEUE: usize = 1_000;

#[derive(Clone)]
pub struct Compressor {
    queue: mpsc::Sender<Weak<Prebuilt>>,
}

impl Compressor {
    pub fn start(prefixes: Arc<SharedPrefixes>) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE);
        std::thread::spawn(move || compress_all(queue, &prefixes));
        Self { queue: sender }
    }

    /// Queues a script once. When the queue is full, the next request of the script tries again.
    pub fn enqueue(&self, script: &Arc<Prebuilt>) {
        // A load first, because nearly every served tag was queued before.
        if script.is_queued.load(Ordering::Relaxed)
            || script.is_queued.swap(true, Ordering::Relaxed)
        {
            return;
        }
        if self.queue.try_send(Arc::downgrade(script)).is_err() {
            script.is_queued.store(false, Ordering::Relaxed);
        }
    }
}

/// Compresses one script after the other in a thread with low priority: the strongest compression
/// takes tens of milliseconds, minutes for all sites of a node that has just started, and visitors
/// must not wait for it. A busy node serves gzip for longer.
fn compress_all(mut queue: mpsc::Receiver<Weak<Prebuilt>>, prefixes: &SharedPrefixes) {
    lower_thread_priority();
    while let Some(script) = queue.blocking_recv() {
        // A script that has been evicted needs no compression.
        let Some(script) = script.upgrade() else { continue };
        if let Err(error) = script.compress(prefixes) {
            tracing::error!(%error, "a script could not be compressed");
        }
    }
}

/// The thread's nice value, unless the program's own is higher: the thread gets a tenth of an
/// ordinary one's time (`sched(7)`), even on a busy machine.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

fn lower_thread_priority() {
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::delivery::bundles::Configured;
    use crate::infra::compression::Encoding;

    #[test]
    fn scripts_are_compressed_with_a_low_priority() {
        use rustix::process::getpriority_process;

        let prefixes = SharedPrefixes::default();
        let script = Configured { program: "var a=1;", rest: "a".to_owned() };
        let script = Arc::new(Prebuilt::new(&script, &prefixes).unwrap());
        let (to_compress, queue) = mpsc::channel(1);
        to_compress.try_send(Arc::downgrade(&script)).unwrap();
        drop(to_compress);
        let usual = getpriority_process(None).unwrap();
        let compressing = std::thread::spawn(move || {
            compress_all(queue, &prefixes);
            getpriority_process(None).unwrap()
        });
        assert_eq!(compressing.join().unwrap(), NICE.max(usual));
        assert_eq!(script.best(Some("br")).unwrap().0, Encoding::Brotli);
        assert_eq!(getpriority_process(None).unwrap(), usual);
    }
}
