use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::processes;
use crate::browser::run_delay::RunDelay;

const MAX_DISK: u64 = 512 << 20;
const MAX_MEMORY: u64 = 3 << 30;
const MAX_RECEIVED: u64 = 512 << 20;
const MAX_PROCESSES: usize = 200;
const EVERY: Duration = Duration::from_millis(500);

/// Returns a sentence once a profile's browser exceeds a limit. Also measures the run delay of its processes.
pub async fn exceeded(run_delay: &Arc<RunDelay>, received: impl Fn() -> u64) -> String {
    loop {
        sleep(EVERY).await;
        if received() > MAX_RECEIVED {
            return "the page received more than 512 MiB".to_owned();
        }
        let run_delay = Arc::clone(run_delay);
        let used = spawn_blocking(move || {
            let running = run_delay.measure();
            (size(run_delay.profile(), 0), processes::memory(&running), running.len())
        });
        match used.await {
            Ok((disk, ..)) if disk > MAX_DISK => {
                return "the page filled more than 512 MiB of disk".to_owned();
            }
            Ok((_, memory, _)) if memory > MAX_MEMORY => {
                return "the page used more than 3 GiB of memory".to_owned();
            }
            Ok((.., running)) if running > MAX_PROCESSES => {
                return format!("the page started more than {MAX_PROCESSES} processes");
            }
            _ => {}
        }
    }
}

/// Browsers do not create deeper folders.
const MAX_DEPTH: u32 = 12;

fn size(folder: &Path, depth: u32) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() && depth < MAX_DEPTH => size(&entry.path(), depth + 1),
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    });
    sizes.sum()
}
