//! Requests cosignatures of the log from witnesses, outside the transactions that append. A signed state is
//! published once enough witnesses have cosigned it, or once no other witness is pending.

mod asking;
pub mod witnesses;

use chrono::TimeDelta;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::format::note::text_of;
use super::format::submission::Submission;
use super::log::{Log, LogKey};
use super::pause::Pause;
use super::proving::State;
use super::store;
use super::store::witnesses::{self as stored, Cosigned, StoredWitness};
use super::stored_tree::signed;
use crate::error::{Error, Result};
use asking::{AskError, AskedWitness, Reply, Seen, TIMEOUT};

/// Maximum number of submissions to a witness: it may know another size than the stored one, and the log may grow.
const TRIES: usize = 3;
/// Pause before a failed witness is asked again: doubled each time, up to the maximum.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(10);
const LONGEST_PAUSE: TimeDelta = TimeDelta::minutes(10);

impl Log {
    /// Requests the missing cosignatures of the latest signed state from the witnesses, and publishes the state.
    pub async fn cosign(&self) -> Result<()> {
        let Some(key) = self.key.as_ref().filter(|_| self.has_witnesses()) else { return Ok(()) };
        let mut connection = self.infra.pool.acquire().await?;
        let state = match self.newest(&mut connection).await {
            Err(Error::NotSealedYet { .. }) => return Ok(()),
            state => state?,
        };
        // Cosigning discloses the state to an outsider, so every running node must have stored it first.
        if !self.guard.is_stored_by_all(&state.note) {
            return Ok(());
        }
        let known = stored::list_witnesses(&mut connection).await?;
        drop(connection);
        self.count(&known);
        let text = text_of(&state.note);
        let now = self.infra.clock.now();
        let due = self.witnesses.asked.iter().filter_map(|witness| {
            let known = known.iter().find(|known| known.witness == witness.key);
            let is_due = known.is_none_or(|known| known.text != text && known.not_before <= now);
            is_due.then(|| self.ask_and_note(key, &state, witness, known))
        });
        let mut asking = due.collect::<FuturesUnordered<_>>();
        while let Some(asked) = asking.next().await {
            asked?;
            if !asking.is_empty() {
                self.publish(key, &state, false).await?;
            }
        }
        self.publish(key, &state, true).await
    }

    async fn ask_and_note(
        &self,
        key: &LogKey,
        state: &State,
        witness: &AskedWitness,
        known: Option<&StoredWitness>,
    ) -> Result<()> {
        let now = self.infra.clock.now();
        let (name, size) = (witness.name.as_str(), state.size);
        let known_size = known.map_or(0, |known| known.size_of(&key.origin));
        match self.ask(key, state, witness, known_size).await {
            Ok(Some(line)) => {
                let text = text_of(&state.note);
                let (witness, size) = (witness.key.as_str(), signed(state.size)?);
                let new = Cosigned { witness, size, text, line: &line, at: now };
                let mut connection = self.infra.pool.acquire().await?;
                stored::upsert_cosigned(&mut connection, &new).await
            }
            Ok(None) => Ok(()),
            Err(error) => {
                self.infra.metrics.log.failures(name).inc();
                match &error {
                    AskError::OtherLog => tracing::error!(name, size, "{OTHER_LOG}"),
                    error => tracing::warn!(name, size, %error, "a witness did not cosign the log"),
                }
                let failures = known.map_or(0, |known| known.failures).saturating_add(1);
                let mut connection = self.infra.pool.acquire().await?;
                let later = now + pause_after(failures);
                stored::upsert_failure(&mut connection, &witness.key, failures, later).await
            }
        }
    }

    /// The cosignature line; `None` if a longer log was signed meanwhile.
    async fn ask(
        &self,
        key: &LogKey,
        state: &State,
        witness: &AskedWitness,
        known_size: i64,
    ) -> Result<Option<String>, AskError> {
        let (deadline, text) = (Instant::now() + TIMEOUT, text_of(&state.note));
        let mut old = u64::try_from(known_size).unwrap_or_default();
        for _ in 0..TRIES {
            let mut connection = self.infra.pool.acquire().await.map_err(Error::from)?;
            if old > state.size {
                let head = store::find_head(&mut connection).await?;
                drop(connection);
                return match u64::try_from(head.size).is_ok_and(|size| size >= old) {
                    true => Ok(None),
                    false => Err(self.look_at_other(key, witness, deadline).await),
                };
            }
            let path = state.growth_path(&mut connection, old).await?;
            drop(connection);
            let path = path.ok_or_else(|| Error::internal("the log has no way to its own size"))?;
            let submission = Submission { old, path, checkpoint: &state.note };
            let now = u64::try_from(self.infra.clock.now().timestamp()).unwrap_or_default();
            match witness.submit(&submission, text, now, deadline).await? {
                Reply::Cosigned(line) => return Ok(Some(line)),
                Reply::Knows(size) => old = size,
                Reply::OtherRoot => {
                    return Err(self.look_at_other(key, witness, deadline).await);
                }
            }
        }
        Err(AskError::Undecided)
    }

    /// Handles a witness that reports a longer or different log. If it returns a note that this service
    /// signed, nothing more is signed until the database extends that state.
    async fn look_at_other(
        &self,
        key: &LogKey,
        witness: &AskedWitness,
        deadline: Instant,
    ) -> AskError {
        if let Ok(Seen::Note(note)) = witness.look(&key.origin, None, deadline).await
            && key.read(&note).is_some()
        {
            self.guard.record_shown(&note);
        }
        AskError::OtherLog
    }

    /// Asks the witnesses for their state before the first signature; `false` if this node must not sign yet.
    /// Without an answer, the node relies on its own stored state, and waits if there is none.
    pub(super) async fn may_begin(&self, key: &LogKey) -> Result<bool> {
        if !self.has_witnesses() || self.guard.has_asked() {
            return Ok(true);
        }
        let mut connection = self.infra.pool.acquire().await?;
        let head = store::find_head(&mut connection).await?;
        drop(connection);
        let own = Some(head.checkpoint.as_str()).filter(|note| key.read(note).is_some());
        let deadline = Instant::now() + TIMEOUT;
        let asked = self.witnesses.asked.iter();
        let seen = asked
            .map(async |witness| (&witness.name, witness.look(&key.origin, own, deadline).await));
        let mut has_answer = false;
        for (name, seen) in join_all(seen).await {
            match seen {
                Ok(Seen::Nothing) => has_answer = true,
                Ok(Seen::Note(note)) if key.read(&note).is_some() => {
                    self.guard.record_shown(&note);
                    has_answer = true;
                }
                Ok(Seen::Note(_)) => {
                    tracing::warn!(name, "a witness shows a checkpoint that we have not signed");
                }
                Ok(Seen::Size(size)) if !self.has_entries(size).await? => {
                    let name = name.clone();
                    return self.outcome(Err(Pause::WitnessLonger { name, size }.into()));
                }
                Ok(Seen::Size(_)) => has_answer = true,
                Err(error) => tracing::warn!(name, %error, "a witness of the log does not answer"),
            }
        }
        let contents = match self.guard.contents().await {
            Ok(contents) => contents,
            Err(stop) => return self.outcome(Err(stop)),
        };
        if !has_answer && self.guard.remembered(contents.as_ref()).is_empty() {
            return self.outcome(Err(Pause::NoWitness.into()));
        }
        self.guard.mark_asked();
        Ok(true)
    }

    async fn has_entries(&self, size: u64) -> Result<bool> {
        let mut connection = self.infra.pool.acquire().await?;
        let head = store::find_head(&mut connection).await?;
        Ok(u64::try_from(head.size).is_ok_and(|known| known >= size))
    }

    fn count(&self, known: &[StoredWitness]) {
        for witness in &self.witnesses.asked {
            let known = known.iter().find(|known| known.witness == witness.key);
            let at = known.and_then(|known| known.cosigned_at).map_or(0, |at| at.timestamp());
            self.infra.metrics.log.cosigned(&witness.name).set(at);
        }
    }
}

const OTHER_LOG: &str = "a witness has seen another log of this name, as long as ours or longer: if it \
    shows a checkpoint that we signed, nothing more is added until the database holds its entries \
    (docs/operating.md, AssentLogStopped)";

fn pause_after(failures: i32) -> TimeDelta {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or_default().min(10);
    (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_is_asked_again_after_longer_and_longer_pauses() {
        let pauses = [1, 2, 3, 7, 8, i32::MAX].map(|failures| pause_after(failures).num_seconds());
        assert_eq!(pauses, [10, 20, 40, 600, 600, 600]);
    }
}
