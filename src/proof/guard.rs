//! This node's knowledge of the log, independent of the database. A restored backup lacks the
//! latest entries, and appending to it would sign a contradicting history. The latest signed state
//! is therefore also stored outside the database: in memory, in a file if configured, and by the
//! witnesses, which are asked before the first signature.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::task::spawn_blocking;

use super::pause::{Pause, Source, Stop};
use super::state_file::{Contents, StateFile};
use super::store::reported_files::ReportedFile;
use crate::error::Error;

/// A file that was not reported for this long belongs to a node that has stopped.
const STOPPED_AFTER: Duration = Duration::from_secs(10);
/// The interval at which a node reports its file, to show that it is running.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    pub source: Source,
    pub note: String,
}

pub struct Guard {
    file: Option<StateFile>,
    /// The latest signed state of any node, and when this node first saw it, unless it found that state at its start.
    last: Mutex<Option<(String, Option<DateTime<Utc>>)>>,
    /// Notes of this service that witnesses have returned, until the database was seen to extend them.
    shown: Mutex<Vec<String>>,
    heartbeats: Mutex<HashMap<String, Heartbeat>>,
    reported: Mutex<Option<(Contents, Instant)>>,
    stored_by_all: Mutex<Option<String>>,
    pause: Mutex<Option<Pause>>,
    has_asked: AtomicBool,
    pub lock: tokio::sync::Mutex<()>,
}

struct Heartbeat {
    last: i64,
    changed: Instant,
    is_running: bool,
}

impl Guard {
    pub fn new(file: Option<PathBuf>) -> Self {
        Self {
            file: file.map(StateFile::new),
            last: Mutex::default(),
            shown: Mutex::default(),
            heartbeats: Mutex::default(),
            reported: Mutex::default(),
            stored_by_all: Mutex::default(),
            pause: Mutex::default(),
            has_asked: AtomicBool::new(false),
            lock: tokio::sync::Mutex::default(),
        }
    }

    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    pub async fn contents(&self) -> Result<Option<Contents>, Stop> {
        let Some(file) = self.file.clone() else { return Ok(None) };
        Ok(Some(on_blocking_thread(move || file.read()).await?))
    }

    pub fn remembered(&self, contents: Option<&Contents>) -> Vec<Remembered> {
        let name = self.file.as_ref().map(StateFile::name).unwrap_or_default();
        let kept = contents.and_then(|contents| contents.note.clone());
        let kept = kept.map(|note| Remembered { source: Source::File(name), note });
        let last = locked(&self.last).clone();
        let last = last.map(|(note, _)| Remembered { source: Source::Process, note });
        let shown = locked(&self.shown).clone().into_iter();
        let shown = shown.map(|note| Remembered { source: Source::Witness, note });
        kept.into_iter().chain(last).chain(shown).collect()
    }

    pub fn record_signed(&self, note: &str, now: DateTime<Utc>) {
        let mut last = locked(&self.last);
        if last.as_ref().is_none_or(|(known, _)| known != note) {
            let seen_at = last.is_some().then_some(now);
            *last = Some((note.to_owned(), seen_at));
        }
    }

    /// The time since this node first saw this note, zero if it has not seen it yet; `None` if it found the note at its
    /// start, or has not seen any.
    pub fn age(&self, note: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
        let last = locked(&self.last);
        let (known, seen_at) = last.as_ref()?;
        match known == note {
            true => seen_at.map(|seen_at| now - seen_at),
            false => Some(TimeDelta::zero()),
        }
    }

    pub fn forget_shown(&self) {
        locked(&self.shown).clear();
    }

    /// Whether this note is stored already. If there is a file, its content decides.
    pub fn holds(&self, contents: Option<&Contents>, note: &str) -> bool {
        match contents {
            Some(contents) => contents.note.as_deref() == Some(note),
            None => locked(&self.last).as_ref().is_some_and(|(known, _)| known == note),
        }
    }

    pub fn is_stored_by_all(&self, note: &str) -> bool {
        locked(&self.stored_by_all).as_deref() == Some(note)
    }

    pub fn record_stored_by_all(&self, note: String) {
        *locked(&self.stored_by_all) = Some(note);
    }

    /// Replaces the file's content. `false` when another node has written it in the meantime.
    pub async fn write(&self, contents: &Contents, note: &str) -> Result<bool, Stop> {
        let Some(file) = self.file.clone() else { return Ok(true) };
        let (seen, note) = (contents.note.clone(), note.to_owned());
        on_blocking_thread(move || file.replace(seen.as_deref(), &note)).await
    }

    pub fn damaged(&self) -> Pause {
        Pause::Damaged { file: self.file.as_ref().map(StateFile::name).unwrap_or_default() }
    }

    pub fn record_shown(&self, note: &str) {
        let mut shown = locked(&self.shown);
        if !shown.iter().any(|known| known == note) {
            shown.push(note.to_owned());
        }
    }

    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub fn mark_asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    pub fn is_report_due(&self, contents: &Contents) -> bool {
        let reported = locked(&self.reported);
        reported
            .as_ref()
            .is_none_or(|(known, at)| known != contents || at.elapsed() >= REPORT_INTERVAL)
    }

    pub fn record_reported(&self, contents: Contents) {
        *locked(&self.reported) = Some((contents, Instant::now()));
    }

    pub fn observe(&self, stored: &[ReportedFile]) {
        let mut heartbeats = locked(&self.heartbeats);
        for ReportedFile { id, beat: found, .. } in stored {
            let first = || Heartbeat { last: *found, changed: Instant::now(), is_running: false };
            let beat = heartbeats.entry(id.clone()).or_insert_with(first);
            if beat.last != *found {
                *beat = Heartbeat { last: *found, changed: Instant::now(), is_running: true };
            }
        }
    }

    /// Whether the file was reported since this process first saw its row, which shows that its node is running.
    pub fn is_running(&self, id: &str) -> bool {
        locked(&self.heartbeats).get(id).is_some_and(|beat| beat.is_running)
    }

    /// Whether the file was last reported so long ago that its node cannot be running.
    pub fn has_stopped(&self, id: &str) -> bool {
        locked(&self.heartbeats).get(id).is_some_and(|beat| beat.changed.elapsed() >= STOPPED_AFTER)
    }

    /// Stores the reason for the pause; `true` when it differs from the previous one.
    pub fn record_pause(&self, pause: Option<&Pause>) -> bool {
        let mut known = locked(&self.pause);
        let is_new = known.as_ref() != pause;
        *known = pause.cloned();
        is_new
    }
}

/// Files are read and written on a blocking thread, because a disk may be slow.
async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Pause> + Send + 'static,
) -> Result<T, Stop> {
    let done = spawn_blocking(work).await.map_err(Error::internal)?;
    Ok(done?)
}

/// Ignores poisoning: no code under these locks can panic halfway through a change.
fn locked<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn notes(guard: &Guard) -> Vec<String> {
        let contents = guard.contents().await.unwrap();
        guard.remembered(contents.as_ref()).into_iter().map(|known| known.note).collect()
    }

    #[tokio::test]
    async fn a_note_survives_a_restart_if_there_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = Some(folder.path().join("log-checkpoint"));
        let guard = Guard::new(file.clone());
        assert_eq!(notes(&guard).await, Vec::<String>::new());
        for note in ["one", "two"] {
            let contents = guard.contents().await.unwrap().unwrap();
            assert!(guard.write(&contents, note).await.unwrap());
            guard.record_signed(note, DateTime::UNIX_EPOCH);
        }
        assert_eq!(notes(&guard).await, ["two", "two"]);
        assert_eq!(notes(&Guard::new(file)).await, ["two"]);
    }

    #[tokio::test]
    async fn without_a_file_a_note_is_kept_in_memory() {
        let guard = Guard::new(None);
        guard.record_signed("one", DateTime::UNIX_EPOCH);
        assert_eq!(notes(&guard).await, ["one"]);
    }

    #[test]
    fn the_age_of_a_state_counts_from_when_it_was_first_seen() {
        let guard = Guard::new(None);
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        assert_eq!(guard.age("one", at(0)), None, "nothing was seen");
        guard.record_signed("one", at(0));
        assert_eq!(guard.age("one", at(3)), None, "it was found at the start");
        assert_eq!(guard.age("two", at(3)), Some(TimeDelta::zero()), "it is newer");
        guard.record_signed("two", at(4));
        guard.record_signed("two", at(5));
        assert_eq!(guard.age("two", at(7)), Some(TimeDelta::seconds(3)));
    }

    #[tokio::test]
    async fn what_a_witness_has_shown_counts_until_the_database_goes_on_from_it() {
        let guard = Guard::new(None);
        guard.record_shown("longer");
        guard.record_shown("longer");
        assert_eq!(notes(&guard).await, ["longer"]);
        guard.record_signed("shorter", DateTime::UNIX_EPOCH);
        assert_eq!(notes(&guard).await, ["shorter", "longer"]);
        guard.forget_shown();
        assert_eq!(notes(&guard).await, ["shorter"]);
    }

    #[test]
    fn a_files_node_is_running_once_its_row_changes_and_not_when_first_seen() {
        let guard = Guard::new(None);
        let row = |beat| ReportedFile {
            id: "a".to_owned(),
            number: 1,
            size: 1,
            checkpoint: String::new(),
            beat,
        };
        guard.observe(&[row(7)]);
        guard.observe(&[row(7)]);
        assert!(!guard.is_running("a") && !guard.has_stopped("a") && !guard.has_stopped("b"));
        guard.observe(&[row(8)]);
        assert!(guard.is_running("a"));
    }

    #[test]
    fn a_reason_is_news_once() {
        let guard = Guard::new(None);
        let pauses = [Pause::NoWitness, Pause::LaterName { latest: 2 }];
        assert!(!guard.record_pause(None));
        for pause in &pauses {
            assert!(guard.record_pause(Some(pause)) && !guard.record_pause(Some(pause)));
        }
        assert!(guard.record_pause(None));
    }
}
