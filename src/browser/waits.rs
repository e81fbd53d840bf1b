//! Measures how long a browser was ready to run without a processor.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::unistd::Pid;

use super::processes;

/// The processes of a profile, and how long they have waited.
pub struct Waits {
    profile: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    waits: HashMap<Pid, Duration>,
    lost: Duration,
}

impl Known {
    /// Adds the longest wait of one process since the last time. Waits of several processes at the same time delay the
    /// browser only once.
    fn add(&mut self, now: HashMap<Pid, Duration>) {
        let before = |id: &Pid| self.waits.get(id).copied().unwrap_or_default();
        let since = now.iter().map(|(id, wait)| wait.saturating_sub(before(id))).max();
        self.lost += since.unwrap_or_default();
        self.waits = now;
    }
}

impl Waits {
    pub fn of(profile: &Path) -> Self {
        Self { profile: profile.to_owned(), known: Mutex::default() }
    }

    pub fn profile(&self) -> &Path {
        &self.profile
    }

    /// Records the waits so far. Returns the running processes.
    pub fn note(&self) -> Vec<Pid> {
        let running = processes::in_folder(&self.profile);
        let waits = running.iter().filter_map(|&id| Some((id, wait(id)?)));
        let waits = waits.collect();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).add(waits);
        running
    }

    /// The total time that was lost, as of the last [`Self::note`].
    pub fn lost(&self) -> Duration {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).lost
    }
}

/// The wait of a process's main thread so far. `None` on systems that do not report it.
fn wait(id: Pid) -> Option<Duration> {
    waited(&fs::read_to_string(format!("/proc/{id}/schedstat")).ok()?)
}

/// The second number of `schedstat`: nanoseconds on a run queue.
fn waited(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_processes_wait_at_the_same_time_is_lost_once() {
        let ms = Duration::from_millis;
        let waits = |waits: &[(i32, u64)]| {
            waits.iter().map(|&(id, wait)| (Pid::from_raw(id), ms(wait))).collect()
        };
        let mut known = Known::default();
        known.add(waits(&[(1, 300), (2, 100)]));
        assert_eq!(known.lost, ms(300));
        // Process 2 has waited longer this time, and process 3 is new.
        known.add(waits(&[(1, 310), (2, 350), (3, 40)]));
        assert_eq!(known.lost, ms(550));
        // The id of a process that ended was reused.
        known.add(waits(&[(2, 20)]));
        assert_eq!(known.lost, ms(550));
        known.add(waits(&[]));
        known.add(waits(&[(4, 5)]));
        assert_eq!(known.lost, ms(555));
    }

    #[test]
    fn the_wait_of_a_process_is_its_second_number() {
        assert_eq!(waited("120248 3102491 2\n"), Some(Duration::from_nanos(3_102_491)));
        assert_eq!(waited("0\n"), None);
    }
}
