//! Measures how long a browser was ready to run without a processor.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::unistd::Pid;

use super::processes;

/// The processes of a profile, and how long they have waited on a run queue (`run_delay` of Linux).
pub struct RunDelay {
    profile: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    delays: HashMap<Pid, Duration>,
    lost: Duration,
}

impl Known {
    /// Adds the longest delay of one process since the last time. Delays of several processes at the same time slow the
    /// browser only once.
    fn add(&mut self, now: HashMap<Pid, Duration>) {
        let before = |id: &Pid| self.delays.get(id).copied().unwrap_or_default();
        let since = now.iter().map(|(id, delay)| delay.saturating_sub(before(id))).max();
        self.lost += since.unwrap_or_default();
        self.delays = now;
    }
}

impl RunDelay {
    pub fn of(profile: &Path) -> Self {
        Self { profile: profile.to_owned(), known: Mutex::default() }
    }

    pub fn profile(&self) -> &Path {
        &self.profile
    }

    /// Measures the delays so far. Returns the running processes.
    pub fn measure(&self) -> Vec<Pid> {
        let running = processes::in_folder(&self.profile);
        let delays = running.iter().filter_map(|&id| Some((id, run_delay(id)?)));
        let delays = delays.collect();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).add(delays);
        running
    }

    /// The total time that was lost, as of the last [`Self::measure`].
    pub fn lost(&self) -> Duration {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).lost
    }
}

/// The run delay of a process's main thread so far. `None` on systems that do not report it.
fn run_delay(id: Pid) -> Option<Duration> {
    parse_run_delay(&fs::read_to_string(format!("/proc/{id}/schedstat")).ok()?)
}

/// The second number of `schedstat`: nanoseconds on a run queue.
fn parse_run_delay(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_processes_wait_at_the_same_time_is_lost_once() {
        let ms = Duration::from_millis;
        let delays = |delays: &[(i32, u64)]| {
            delays.iter().map(|&(id, delay)| (Pid::from_raw(id), ms(delay))).collect()
        };
        let mut known = Known::default();
        known.add(delays(&[(1, 300), (2, 100)]));
        assert_eq!(known.lost, ms(300));
        // Process 2 has waited longer this time, and process 3 is new.
        known.add(delays(&[(1, 310), (2, 350), (3, 40)]));
        assert_eq!(known.lost, ms(550));
        // The id of a process that ended was reused.
        known.add(delays(&[(2, 20)]));
        assert_eq!(known.lost, ms(550));
        known.add(delays(&[]));
        known.add(delays(&[(4, 5)]));
        assert_eq!(known.lost, ms(555));
    }

    #[test]
    fn the_run_delay_of_a_process_is_its_second_number() {
        assert_eq!(parse_run_delay("120248 3102491 2\n"), Some(Duration::from_nanos(3_102_491)));
        assert_eq!(parse_run_delay("0\n"), None);
    }
}
