//! Standard error, the destination of the tracing log. A log that cannot be written never stops the program:
//! with a full disk, a closed terminal, a broken pipe or a stalled reader, lines are lost. A separate thread
//! writes, so that no request waits for standard error. `tracing-appender` would bound the number of lines
//! instead of their bytes, and write every line separately.

use std::io::{self, Write, stderr};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum number of buffered bytes. Further lines are dropped.
const MAX_PENDING: usize = 1 << 20;
const MAX_KEPT_BUFFER: usize = 64 << 10;

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pending: Vec<u8>,
    is_writing: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        if state.pending.len() + bytes.len() <= MAX_PENDING {
            state.pending.extend_from_slice(bytes);
            self.changed.notify_all();
        }
    }

    fn write_to(&self, mut output: impl Write) {
        let mut batch = Vec::new();
        loop {
            let mut state = self.lock();
            state.is_writing = false;
            self.changed.notify_all();
            let idle = |state: &mut State| state.pending.is_empty();
            let waited = self.changed.wait_while(state, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            state.is_writing = true;
            std::mem::swap(&mut state.pending, &mut batch);
            drop(state);
            let _ = output.write_all(&batch);
            batch.clear();
            batch.shrink_to(MAX_KEPT_BUFFER);
        }
    }

    fn flush(&self, limit: Duration) {
        let busy = |state: &mut State| state.is_writing || !state.pending.is_empty();
        drop(self.changed.wait_timeout_while(self.lock(), limit, busy));
    }
}

fn queue() -> &'static Queue {
    static QUEUE: OnceLock<&'static Queue> = OnceLock::new();
    QUEUE.get_or_init(|| {
        let queue: &'static Queue = Box::leak(Box::default());
        let writer = thread::Builder::new().name("log".to_owned());
        // If the thread cannot be started, nothing is logged, but the service runs.
        let _ = writer.spawn(|| queue.write_to(stderr()));
        queue
    })
}

#[derive(Clone, Copy)]
pub struct LogOutput;

impl Write for LogOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        queue().push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn write_line(line: &str) {
    queue().push(format!("{line}\n").as_bytes());
}

/// Waits for the buffered lines to be written, for at most a second.
pub fn flush() {
    queue().flush(Duration::from_secs(1));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    use super::*;

    struct Broken(Receiver<()>);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_or_full_output_delays_nobody() {
        let queue: &'static Queue = Box::leak(Box::default());
        let (resume, stuck) = channel();
        thread::spawn(|| queue.write_to(Broken(stuck)));
        let began = Instant::now();
        let line = [b'x'; 1024];
        (0..3 * MAX_PENDING / line.len()).for_each(|_| queue.push(&line));
        queue.flush(Duration::from_millis(10));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(queue.lock().pending.capacity() <= 2 * MAX_PENDING);
        drop(resume);
        queue.flush(Duration::from_secs(10));
        assert!(queue.lock().pending.is_empty(), "it goes on after errors");
    }
}
