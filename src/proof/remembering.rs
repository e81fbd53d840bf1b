//! Stores each signed state outside the database, then publishes it. A state is signed and
//! committed, then stored in the file of every running node, and only then published. So every
//! published state is in every file, whenever nodes are killed, and a restored older database is
//! always detected.

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::log::{Log, LogKey};
use super::pause::Stop;
use super::proving::State;
use super::state_file::Contents;
use super::store::reported_files::{self, FileReport};
use super::store::{self, Head};
use super::stored_tree::{signed, stored_edge};
use crate::error::{Error, Result};

/// A file that was not reported for this long counts as discarded.
const DISCARDED_AFTER: TimeDelta = TimeDelta::days(30);

impl Log {
    /// Stores the latest signed state of any node, if it extends the stored ones, and publishes it
    /// once all nodes have stored it. `true` when the log may be appended to.
    pub async fn remember_newest(&self) -> Result<bool> {
        let Some(key) = &self.key else { return Ok(false) };
        let _lock = self.guard.lock.lock().await;
        self.outcome(self.remember(key).await)
    }

    pub(super) fn outcome(&self, step: Result<(), Stop>) -> Result<bool> {
        match step {
            Ok(()) => Ok(true),
            Err(Stop::Waiting) => Ok(false),
            Err(Stop::Paused(pause)) => {
                self.pause(&pause);
                Ok(false)
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    async fn remember(&self, key: &LogKey) -> Result<(), Stop> {
        let contents = self.guard.contents().await?;
        let mut connection = self.infra.pool.acquire().await.map_err(Error::from)?;
        if let Some(contents) = &contents {
            self.report(&mut connection, key, contents).await?;
        }
        // The witnesses are asked before the database is trusted for the first time.
        if self.has_witnesses() && !self.guard.has_asked() {
            return Err(Stop::Waiting);
        }
        let head = store::find_head(&mut connection).await?;
        let Some(state) = key.read(&head.checkpoint) else { return Ok(()) };
        self.infra.metrics.log.size.set(head.size);
        if !self.guard.holds(contents.as_ref(), &head.checkpoint) {
            let edge = stored_edge(&mut connection, state.size).await?;
            self.check(&mut connection, key, &head, &edge, contents.as_ref()).await?;
            if let Some(contents) = contents {
                self.write(&mut connection, key, contents, &head).await?;
            }
            self.guard.forget_shown();
        }
        self.guard.record_signed(&head.checkpoint, self.infra.clock.now());
        self.show(&mut connection, key, head).await?;
        Ok(())
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        contents: Contents,
        head: &Head,
    ) -> Result<(), Stop> {
        if !self.guard.write(&contents, &head.checkpoint).await? {
            // Another node that shares the file has written it first.
            return Err(Stop::Waiting);
        }
        if contents.note.is_none() {
            let entries = head.size;
            tracing::info!(entries, "LOG_STATE was empty: it remembers the log from here on");
        }
        let contents = Contents { note: Some(head.checkpoint.clone()), ..contents };
        self.report(connection, key, &contents).await?;
        let before = self.infra.clock.now() - DISCARDED_AFTER;
        Ok(reported_files::delete_reported_files_before(connection, before).await?)
    }

    async fn report(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        contents: &Contents,
    ) -> Result<()> {
        let Some(note) = contents.note.as_deref() else { return Ok(()) };
        let Some(state) = key.recall(note) else { return Ok(()) };
        let Some(number) = key.number_of(&state.origin) else { return Ok(()) };
        if !self.guard.is_report_due(contents) {
            return Ok(());
        }
        let new = FileReport {
            id: &contents.id,
            number: number.into(),
            size: signed(state.size)?,
            checkpoint: note,
            at: self.infra.clock.now(),
        };
        reported_files::upsert_reported_file(connection, &new).await?;
        self.guard.record_reported(contents.clone());
        Ok(())
    }

    async fn show(&self, connection: &mut PgConnection, key: &LogKey, head: Head) -> Result<()> {
        if self.guard.is_stored_by_all(&head.checkpoint)
            || !self.is_kept_by_all(connection, key, head.size).await?
        {
            return Ok(());
        }
        if !self.has_witnesses() {
            let size = u64::try_from(head.size).map_err(Error::internal)?;
            let state = State::of(size, head.checkpoint.clone());
            self.publish(key, &state, true).await?;
        }
        self.guard.record_stored_by_all(head.checkpoint);
        self.appended.notify_one();
        Ok(())
    }
}
