//! Checks, before signing, storing and publishing, that the tree extends every signed state.

use sqlx::PgConnection;

use super::format::checkpoint::Checkpoint;
use super::format::note::Note;
use super::format::tree::Edge;
use super::log::{Log, LogKey};
use super::pause::{Pause, Source, Stop};
use super::quoting::quoted;
use super::state_file::Contents;
use super::store::Head;
use super::store::reported_files::{self, ReportedFile};
use super::stored_tree::stored_edge;
use crate::error::Result;

struct Known {
    source: Source,
    state: Checkpoint,
    id: Option<String>,
}

impl Log {
    /// Fails if the tree with this edge does not extend a known state: one that this node has stored, that a
    /// witness has returned or that another node has reported. Also fails if the file of another node is ahead
    /// of this node, except while that other node is running.
    pub(super) async fn check(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        head: &Head,
        edge: &Edge,
        contents: Option<&Contents>,
    ) -> Result<(), Stop> {
        let own = self.known_here(key, contents)?;
        let stored = reported_files::list_reported_files(connection).await?;
        self.guard.observe(&stored);
        let others = known_elsewhere(key, &stored);
        let all = || own.iter().chain(&others);
        let signed_last = Note::parse(&head.checkpoint).ok();
        let signed_last = signed_last.and_then(|note| note.text.lines().next());
        let origins = all().map(|known| known.state.origin.as_str()).chain(signed_last);
        match origins.filter_map(|origin| key.number_of(origin)).max() {
            Some(latest) if latest > key.number => return Err(Pause::LaterName { latest }.into()),
            _ => {}
        }
        for known in all().filter(|known| known.counts_for(key)) {
            known.is_held_by(connection, key, edge).await?;
        }
        let longest = own.iter().filter(|known| known.counts_for(key));
        let longest = longest.map(|known| known.state.size).max().unwrap_or_default();
        let longer = others.iter().filter(|known| known.counts_for(key));
        let longer = longer.filter(|known| known.state.size > longest);
        for known in longer {
            self.require_running(known, longest)?;
        }
        Ok(())
    }

    fn known_here(&self, key: &LogKey, contents: Option<&Contents>) -> Result<Vec<Known>, Pause> {
        let mut all = Vec::new();
        for remembered in self.guard.remembered(contents) {
            let source = remembered.source;
            match key.recall(&remembered.note) {
                Some(state) => all.push(Known { source, state, id: None }),
                None if matches!(source, Source::File(_)) => return Err(self.guard.damaged()),
                None => {}
            }
        }
        Ok(all)
    }

    /// A file that is ahead is acceptable while its node is running. Until that is known, this node waits.
    fn require_running(&self, known: &Known, own: u64) -> Result<(), Stop> {
        let id = known.id.as_deref().unwrap_or_default();
        match (self.guard.is_running(id), self.guard.has_stopped(id)) {
            (true, _) => Ok(()),
            (false, true) => Err(Pause::StoppedNode { known: known.state.size, own }.into()),
            (false, false) => Err(Stop::Waiting),
        }
    }
}

/// The reported states of other nodes, except those that were altered after signing.
fn known_elsewhere(key: &LogKey, stored: &[ReportedFile]) -> Vec<Known> {
    let known = stored.iter().filter_map(|file| {
        let state = key.recall(&file.checkpoint)?;
        Some(Known { source: Source::OtherFile, state, id: Some(file.id.clone()) })
    });
    known.collect()
}

impl Known {
    /// By raising the number, the operator has accepted that entries of earlier logs are lost.
    fn counts_for(&self, key: &LogKey) -> bool {
        key.number_of(&self.state.origin).is_none_or(|number| number >= key.number)
    }

    async fn is_held_by(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        edge: &Edge,
    ) -> Result<(), Stop> {
        let Checkpoint { origin, size: signed, root } = &self.state;
        let (signed, stored, by) = (*signed, edge.size(), self.source.clone());
        let is_longer = signed > stored;
        if !is_longer && stored_edge(connection, signed).await?.root() == *root {
            return Ok(());
        }
        let pause = match (key.number_of(origin), is_longer) {
            (None, _) => Pause::OtherLog { by, origin: quoted(origin) },
            (_, true) => Pause::Behind { by, signed, stored },
            (_, false) => Pause::Forked { by, signed },
        };
        Err(pause.into())
    }
}
