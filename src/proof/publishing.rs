use sqlx::PgConnection;

use super::format::note::text_of;
use super::log::{Log, LogKey};
use super::proving::State;
use super::store::witnesses as stored;
use super::store::{Head, reported_files};
use super::stored_tree::signed;
use crate::error::Result;

impl Log {
    /// Whether every running node with a file has stored a state of this size or a larger one.
    pub(super) async fn is_kept_by_all(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        size: i64,
    ) -> Result<bool> {
        let stored = reported_files::list_reported_files(connection).await?;
        self.guard.observe(&stored);
        let of_this = stored.iter().filter(|file| file.number == i64::from(key.number));
        let mut behind = of_this.filter(|file| file.size < size);
        Ok(behind.all(|file| self.guard.has_stopped(&file.id)))
    }

    /// Publishes a state with its cosignatures, unless a larger one is published. While witnesses
    /// have yet to answer (`is_last` is false), the cosignatures must satisfy the trust policy.
    pub(super) async fn publish(&self, key: &LogKey, state: &State, is_last: bool) -> Result<()> {
        let mut transaction = self.infra.pool.begin().await?;
        let shown = stored::lock_published(&mut transaction).await?;
        let size = signed(state.size)?;
        if shown.size > size && key.read(&shown.checkpoint).is_some() {
            return Ok(transaction.rollback().await?);
        }
        let known = stored::list_witnesses(&mut transaction).await?;
        let text = text_of(&state.note);
        let line_of =
            |key: &str| known.iter().find(|known| known.witness == key && known.text == text);
        let policy = &self.witnesses.policy;
        let lines = policy.witnesses.iter().filter_map(|witness| line_of(&witness.key));
        let lines = lines.map(|known| known.line.as_str()).collect::<Vec<_>>();
        let is_enough = is_last || policy.is_met(|witness| line_of(&witness.key).is_some());
        let checkpoint = format!("{}{}", state.note, lines.concat());
        if is_enough && checkpoint != shown.checkpoint {
            stored::update_published(&mut transaction, &Head { size, checkpoint }).await?;
        }
        transaction.commit().await?;
        self.infra.metrics.log.cosigners.set(i64::try_from(lines.len()).unwrap_or_default());
        Ok(())
    }
}
