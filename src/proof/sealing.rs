//! Adding to the log what was published and chosen, and signing it.
//!
//! One transaction, by one node at a time: whoever is killed in the middle leaves the log as it was.

use std::collections::HashMap;
use std::time::Instant;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::choices;
use super::format::bundle;
use super::format::checkpoint::Checkpoint;
use super::format::entry::{self, Kind};
use super::format::hashes::{self, Hash};
use super::format::note::Note;
use super::format::tile::{FULL, Place};
use super::format::tree::{Edge, edge_places};
use super::log::{Log, LogKey};
use super::store::{self, Head, StoredTile, Waiting};
use crate::error::{Error, Result};

/// So many entries are added with one signature.
const MOST: usize = 10_000;
/// Where bundles of entries are stored.
pub(super) const BUNDLES: i16 = -1;

/// What came of looking for something to add.
#[derive(PartialEq, Eq)]
enum Round {
    /// There may be more.
    Full,
    Done,
}

impl Log {
    /// Adds all that waits, unless another node is about to.
    ///
    /// Refuses, and says so, when the database is behind what was signed: see
    /// [`guard`](super::guard).
    pub async fn seal(&self) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        if !self.may_begin(key).await? {
            return Ok(());
        }
        while !self.infra.ending.has_begun() && self.seal_some(key).await? == Round::Full {}
        Ok(())
    }

    async fn seal_some(&self, key: &LogKey) -> Result<Round> {
        let begun = Instant::now();
        let mut transaction = self.infra.pool.begin().await?;
        if !store::take_lock(&mut transaction).await? {
            return Ok(Round::Done);
        }
        let head = store::find_head(&mut transaction).await?;
        let mut edge = stored_edge(&mut transaction, unsigned(head.size)?).await?;
        if !self.may_sign(&mut transaction, key, &head, &edge).await? {
            return Ok(Round::Done);
        }
        let now = self.infra.clock.now();
        let mut entries = self.continuation(key, &head)?.into_iter().collect::<Vec<_>>();
        let waiting = store::list_waiting(&mut transaction, MOST as i64).await?;
        let first = head.size + signed(entries.len() as u64)?;
        for waiting in &waiting {
            entries.push(entry_of(waiting, now)?);
        }
        let next = head.size + signed(entries.len() as u64)?;
        entries.extend(choices::seal(&mut transaction, next, now).await?);
        let is_signed = key.read(&head.checkpoint).is_some_and(|signed| signed.size == edge.size());
        if entries.is_empty() && is_signed {
            drop(transaction);
            self.remember(&head)?;
            return Ok(Round::Done);
        }
        let tiles = add(&mut transaction, &mut edge, &entries).await?;
        store::upsert_tiles(&mut transaction, &tiles).await?;
        store::update_entries(&mut transaction, &waiting, first).await?;
        let (origin, size, root) = (key.origin.clone(), edge.size(), edge.root());
        let checkpoint = key.signer.sign(&Checkpoint { origin, size, root }.to_string());
        let sealed = Head { size: signed(size)?, checkpoint };
        if !store::update_head(&mut transaction, head.size, &sealed).await? {
            return Err(Error::internal("the log was added to beside its lock"));
        }
        transaction.commit().await?;
        self.infra.metrics.log.sealing.observe_time(begun.elapsed());
        self.remember(&sealed)?;
        self.sealed.notify_one();
        Ok(if waiting.len() == MOST { Round::Full } else { Round::Done })
    }

    fn remember(&self, head: &Head) -> Result<()> {
        self.infra.metrics.log.size.set(head.size);
        self.guard.remember(&head.checkpoint).map_err(Error::internal)
    }

    /// What a log begins with that goes on from one of another name: the longest state that is known to
    /// have been signed under that.
    fn continuation(&self, key: &LogKey, head: &Head) -> Result<Option<String>> {
        let former = |note: &String| {
            let state = Checkpoint::parse(Note::parse(note).ok()?.text)?;
            (state.origin != key.origin).then_some(state.size)
        };
        if former(&head.checkpoint).is_none() {
            return Ok(None);
        }
        let remembered = self.guard.remembered().map_err(Error::internal)?;
        let longest = remembered.iter().chain([&head.checkpoint]).max_by_key(|note| former(note));
        Ok(longest.map(|note| entry::continuation(note)))
    }

    /// Whether what the database holds goes on from all that was signed. The operator is told when it
    /// does not.
    async fn may_sign(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        head: &Head,
        edge: &Edge,
    ) -> Result<bool> {
        let remembered = self.guard.remembered().map_err(Error::internal)?;
        let number_of = |note: &String| key.number_of(Note::parse(note).ok()?.text.lines().next()?);
        let latest = remembered.iter().chain([&head.checkpoint]).filter_map(number_of).max();
        if let Some(latest) = latest.filter(|&latest| latest > key.number) {
            return Ok(self.stop(|| {
                tracing::error!(
                    latest,
                    "nothing is added to the log: it goes on under a later name already, so \
                     LOG_NUMBER must not be less than that (docs/operating.md, AssentLogStopped)"
                );
            }));
        }
        for signed in remembered.iter().filter_map(|note| key.read(note)) {
            if !goes_on_from(connection, &signed, edge).await? {
                return Ok(self.stop(|| {
                    tracing::error!(
                        signed = signed.size,
                        stored = edge.size(),
                        "nothing is added to the log: the database does not hold the entries that \
                         were signed, so it comes from a backup (docs/operating.md, AssentLogStopped)"
                    );
                }));
            }
        }
        self.infra.metrics.log.stopped.set(0);
        Ok(true)
    }
}

async fn goes_on_from(
    connection: &mut PgConnection,
    signed: &Checkpoint,
    edge: &Edge,
) -> Result<bool> {
    if signed.size >= edge.size() {
        return Ok((signed.size, signed.root) == (edge.size(), edge.root()));
    }
    Ok(stored_edge(connection, signed.size).await?.root() == signed.root)
}

/// The edge of the log as it was when it had this size.
async fn stored_edge(connection: &mut PgConnection, size: u64) -> Result<Edge> {
    let places = edge_places(size).map(stored_place).collect::<Result<Vec<_>>>()?;
    let stored = store::list_tiles(connection, &places).await?;
    let stored = stored.into_iter().map(|tile| ((tile.level, tile.tile), tile.bytes));
    let stored = stored.collect::<HashMap<_, _>>();
    let hashes = |place| {
        let (bytes, _) = stored.get(&stored_place(place).ok()?)?.as_chunks::<32>();
        Some(bytes.to_vec())
    };
    Edge::of(size, hashes).ok_or_else(|| Error::internal("the log has lost a tile"))
}

/// Adds entries to the tree, and returns all tiles and bundles that this changes.
async fn add(
    connection: &mut PgConnection,
    edge: &mut Edge,
    entries: &[String],
) -> Result<Vec<StoredTile>> {
    let number = signed(edge.size() / FULL as u64)?;
    let begun = store::find_tile(connection, BUNDLES, number).await?;
    let mut last = StoredTile { level: BUNDLES, tile: number, bytes: begun.unwrap_or_default() };
    let mut changed = Vec::new();
    for entry in entries {
        bundle::push(&mut last.bytes, entry);
        for (place, hashes) in edge.append(hashes::leaf(entry.as_bytes())) {
            changed.push(stored_tile(place, &hashes)?);
        }
        if edge.size().is_multiple_of(FULL as u64) {
            let next = StoredTile { level: BUNDLES, tile: last.tile + 1, bytes: Vec::new() };
            changed.push(std::mem::replace(&mut last, next));
        }
    }
    for (place, hashes) in edge.tiles() {
        changed.push(stored_tile(place, hashes)?);
    }
    changed.extend(Some(last).filter(|last| !last.bytes.is_empty()));
    Ok(changed)
}

fn entry_of(waiting: &Waiting, now: DateTime<Utc>) -> Result<String> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == waiting.kind);
    let kind = kind.ok_or_else(|| Error::internal("no such kind of publication"))?;
    let sha256 = Hash::try_from(waiting.sha256.as_slice());
    let sha256 = sha256.map_err(|_| Error::internal("no SHA-256"))?;
    Ok(entry::publication(kind, &sha256, waiting.published_at.unwrap_or(now)))
}

pub(super) fn stored_place(place: Place) -> Result<(i16, i64)> {
    Ok((place.level.into(), signed(place.index)?))
}

fn stored_tile(place: Place, hashes: &[Hash]) -> Result<StoredTile> {
    let (level, tile) = stored_place(place)?;
    Ok(StoredTile { level, tile, bytes: hashes.concat() })
}

pub(super) fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(Error::internal)
}

fn unsigned(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(Error::internal)
}
