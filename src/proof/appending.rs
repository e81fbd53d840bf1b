//! Appends publications and choices to the log, and signs it, in one transaction of one node at a time.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use super::choices;
use super::format::bundle;
use super::format::checkpoint::Checkpoint;
use super::format::entry::{self, Kind};
use super::format::hashes::{self, Hash};
use super::format::note::Note;
use super::format::tile::{FULL, TileId};
use super::format::tree::Edge;
use super::log::{Log, LogKey};
use super::pause::Stop;
use super::state_file::Contents;
use super::store::{self, Head, StoredTile, Waiting, reported_files, witnesses};
use super::stored_tree::{BUNDLES, signed, stored_edge, stored_id, unsigned};
use crate::error::{Error, Result};

const MOST: usize = 10_000;
/// Minimum age of a published state when the next one is signed: nodes whose rounds are apart do not all append.
const LEAST_AGE: TimeDelta = TimeDelta::milliseconds(1_500);
/// The age at which a state that is not published no longer delays the next one.
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(10);

#[derive(PartialEq, Eq)]
enum Round {
    Full,
    Done,
}

impl Log {
    /// Appends all pending entries, unless another node is doing so. Pauses the log when the
    /// database is behind a signed state ([`guard`](super::guard)), and appends nothing while the
    /// latest signed state cannot be stored.
    pub async fn append_pending(&self) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        if !self.may_begin(key).await?
            || !self.remember_newest().await?
            || !self.is_next_due().await?
        {
            return Ok(());
        }
        loop {
            let round = self.append_batch(key).await?;
            let is_remembered = self.remember_newest().await?;
            if round == Round::Done || !is_remembered || self.infra.shutdown.has_begun() {
                return Ok(());
            }
        }
    }

    /// Whether the next state may be signed. A state is published while it is the latest one, so the next one waits
    /// until all nodes have stored it. With witnesses, the rounds are far enough apart.
    async fn is_next_due(&self) -> Result<bool> {
        if self.has_witnesses() {
            return Ok(true);
        }
        let mut connection = self.infra.pool.acquire().await?;
        let head = store::find_head(&mut connection).await?;
        let published = witnesses::find_published(&mut connection).await?;
        let is_published = published.checkpoint.starts_with(&head.checkpoint);
        let least_age = if is_published { LEAST_AGE } else { LONGEST_WAIT };
        let age = self.guard.age(&head.checkpoint, self.infra.clock.now());
        // The clock may have been set back.
        Ok(age.is_none_or(|age| age < TimeDelta::zero() || age >= least_age))
    }

    async fn append_batch(&self, key: &LogKey) -> Result<Round> {
        let begun = Instant::now();
        let mut transaction = self.infra.pool.begin().await?;
        if !store::take_lock(&mut transaction).await? {
            return Ok(Round::Done);
        }
        let head = store::find_head(&mut transaction).await?;
        let mut edge = stored_edge(&mut transaction, unsigned(head.size)?).await?;
        let contents = match self.may_sign(&mut transaction, key, &head, &edge).await {
            Ok(contents) => contents,
            Err(stop) => {
                transaction.rollback().await?;
                return self.outcome(Err(stop)).map(|_| Round::Done);
            }
        };
        self.resume();
        let now = self.infra.clock.now();
        let entries = self.continuation(&mut transaction, key, &head, contents.as_ref()).await?;
        let mut entries = entries.into_iter().collect::<Vec<_>>();
        let waiting = store::list_waiting(&mut transaction, MOST as i64).await?;
        let first = head.size + signed(entries.len() as u64)?;
        for waiting in &waiting {
            entries.push(entry_of(waiting, now)?);
        }
        let next = head.size + signed(entries.len() as u64)?;
        entries.extend(choices::append(&mut transaction, next, now).await?);
        let is_signed = key.read(&head.checkpoint).is_some_and(|signed| signed.size == edge.size());
        if entries.is_empty() && is_signed {
            transaction.rollback().await?;
            return Ok(Round::Done);
        }
        let tiles = add(&mut transaction, &mut edge, &entries).await?;
        store::upsert_tiles(&mut transaction, &tiles).await?;
        store::update_entries(&mut transaction, &waiting, first).await?;
        let (origin, size, root) = (key.origin.clone(), edge.size(), edge.root());
        let checkpoint = key.signer.sign(&Checkpoint { origin, size, root }.to_string());
        let next_head = Head { size: signed(size)?, checkpoint };
        if !store::update_head(&mut transaction, head.size, &next_head).await? {
            return Err(Error::internal("the log was added to beside its lock"));
        }
        transaction.commit().await?;
        self.infra.metrics.log.appending.observe(begun.elapsed().as_secs_f64());
        Ok(if waiting.len() == MOST { Round::Full } else { Round::Done })
    }

    /// The first entry of a log that continues another: the longest known state under the former name.
    async fn continuation(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        head: &Head,
        contents: Option<&Contents>,
    ) -> Result<Option<String>> {
        let former = |note: &String| {
            let state = Checkpoint::parse(Note::parse(note).ok()?.text)?;
            (state.origin != key.origin).then_some(state.size)
        };
        if former(&head.checkpoint).is_none() {
            return Ok(None);
        }
        let remembered = self.guard.remembered(contents).into_iter().map(|known| known.note);
        let reported = reported_files::list_reported_files(connection).await?.into_iter();
        let reported = reported.map(|file| file.checkpoint);
        let all = [head.checkpoint.clone()].into_iter().chain(reported).chain(remembered);
        Ok(all.max_by_key(former).map(|note| entry::continuation(&note)))
    }

    /// Fails unless the tree in the database extends every signed state. Returns the content of the file.
    async fn may_sign(
        &self,
        connection: &mut PgConnection,
        key: &LogKey,
        head: &Head,
        edge: &Edge,
    ) -> Result<Option<Contents>, Stop> {
        let contents = self.guard.contents().await?;
        self.check(connection, key, head, edge, contents.as_ref()).await?;
        Ok(contents)
    }
}

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
        for (id, hashes) in edge.append(hashes::leaf(entry.as_bytes())) {
            changed.push(stored_tile(id, &hashes)?);
        }
        if edge.size().is_multiple_of(FULL as u64) {
            let next = StoredTile { level: BUNDLES, tile: last.tile + 1, bytes: Vec::new() };
            changed.push(std::mem::replace(&mut last, next));
        }
    }
    for (id, hashes) in edge.tiles() {
        changed.push(stored_tile(id, hashes)?);
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

fn stored_tile(id: TileId, hashes: &[Hash]) -> Result<StoredTile> {
    let (level, tile) = stored_id(id)?;
    Ok(StoredTile { level, tile, bytes: hashes.concat() })
}
