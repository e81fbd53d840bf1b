//! Proofs that something is in the log, which can be verified without the log or this service.

use std::cell::RefCell;
use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::format::bundle;
use super::format::epoch::{from_bytes, group_of, inclusion_path};
use super::format::hashes::{self, Hash};
use super::format::path::{self, Nodes, tile_of};
use super::format::tile::{FULL, TileId};
use super::format::tlog_proof::TlogProof;
use super::log::Log;
use super::store::{self, epochs};
use super::stored_tree::{BUNDLES, signed, stored_id};
use crate::error::{Error, Result};

/// Delay in seconds after which pending data are usually in the log.
const SOON: u64 = 3;
pub const NOT_SEALED_YET: Error = Error::NotSealedYet { retry_after: SOON };

/// An entry of the log, and the proof that it is in it.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct LogProof {
    /// The entry as it stands in the log: lines of text.
    pub entry: String,
    /// The entry's number, its path and the signed state of the log, as c2sp.org/tlog-proof has it.
    pub tlog_proof: String,
}

pub struct State {
    pub size: u64,
    pub(super) note: String,
}

impl Log {
    pub async fn state(&self, connection: &mut PgConnection) -> Result<State> {
        let note = self.shown(connection).await?;
        self.state_of(note)
    }

    pub(super) async fn newest(&self, connection: &mut PgConnection) -> Result<State> {
        let note = store::find_head(connection).await?.checkpoint;
        self.state_of(note)
    }

    /// The note that is published: stored by all nodes, and cosigned if there are witnesses.
    pub(super) async fn shown(&self, connection: &mut PgConnection) -> Result<String> {
        Ok(store::witnesses::find_published(connection).await?.checkpoint)
    }

    fn state_of(&self, note: String) -> Result<State> {
        let key = self.key.as_ref().ok_or(Error::NoLog)?;
        let size = key.read(&note).ok_or(NOT_SEALED_YET)?.size;
        Ok(State { size, note })
    }
}

impl State {
    pub(super) fn of(size: u64, note: String) -> Self {
        Self { size, note }
    }

    pub async fn prove_choice(
        &self,
        connection: &mut PgConnection,
        entry: i64,
        salt: &Hash,
        leaf: &Hash,
    ) -> Result<LogProof> {
        let epoch = epochs::find_epoch(connection, entry).await?;
        let seed = epoch.seed.try_into().map_err(|_| Error::internal("no seed"))?;
        let tops = epoch.tops.as_chunks::<32>().0;
        let number = i32::try_from(group_of(leaf, tops.len())).map_err(Error::internal)?;
        let group = epochs::find_group(connection, entry, number).await?;
        let way = inclusion_path(leaf, &seed, tops, &from_bytes(&group));
        let way = way.ok_or_else(|| Error::internal("a receipt is not what was sealed of it"))?;
        let mut extra = salt.to_vec();
        extra.extend(way.index.to_be_bytes());
        extra.extend(way.size.to_be_bytes());
        extra.extend(way.path.concat());
        self.prove_entry(connection, entry, Some(extra)).await
    }

    /// Proves a publication; `None` if it is not in the log yet.
    pub async fn prove_publication(
        &self,
        connection: &mut PgConnection,
        kind: &str,
        sha256: &[u8],
    ) -> Result<Option<LogProof>> {
        match store::find_entry(connection, kind, sha256).await? {
            Some(entry) => self.prove_entry(connection, entry, None).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn prove_entry(
        &self,
        connection: &mut PgConnection,
        number: i64,
        extra: Option<Vec<u8>>,
    ) -> Result<LogProof> {
        let index = u64::try_from(number).map_err(Error::internal)?;
        let path = |nodes: Nodes<'_>| path::inclusion(index, self.size, nodes);
        let path = find_path(connection, path).await?.ok_or(NOT_SEALED_YET)?;
        let full = FULL as u64;
        let bundle = store::find_tile(connection, BUNDLES, signed(index / full)?).await?;
        let position = usize::try_from(index % full).map_err(Error::internal)?;
        let entry = bundle.as_deref().and_then(|bundle| bundle::nth(bundle, position));
        let entry = entry.ok_or_else(|| Error::internal("the log has lost an entry"))?;
        let proof = TlogProof { extra, index, path, checkpoint: self.note.clone() };
        Ok(LogProof {
            entry: String::from_utf8_lossy(entry).into_owned(),
            tlog_proof: proof.to_string(),
        })
    }

    /// The consistency proof from an earlier size, base64; `None` if the log never had that size.
    pub async fn prove_growth(
        &self,
        connection: &mut PgConnection,
        old: u64,
    ) -> Result<Option<Vec<String>>> {
        let path = self.growth_path(connection, old).await?;
        Ok(path.map(|path| path.iter().map(|hash| BASE64_STANDARD.encode(hash)).collect()))
    }

    pub(super) async fn growth_path(
        &self,
        connection: &mut PgConnection,
        old: u64,
    ) -> Result<Option<Vec<Hash>>> {
        find_path(connection, |nodes: Nodes<'_>| path::consistency(old, self.size, nodes)).await
    }
}

/// Computes a path twice: first to find the tiles that it needs, then with these tiles.
async fn find_path(
    connection: &mut PgConnection,
    path: impl Fn(Nodes<'_>) -> Option<Vec<Hash>>,
) -> Result<Option<Vec<Hash>>> {
    let Some(ids) = needed(&path) else { return Ok(None) };
    let ids = ids.into_iter().map(stored_id).collect::<Result<Vec<_>>>()?;
    let stored = store::list_tiles(connection, &ids).await?;
    let tiles = stored.into_iter().map(|tile| ((tile.level, tile.tile), tile.bytes));
    let tiles = tiles.collect::<HashMap<_, _>>();
    let node = |level, index| {
        let (id, range) = tile_of(level, index);
        let (hashes, _) = tiles.get(&stored_id(id).ok()?)?.as_chunks::<32>();
        hashes.get(range).map(hashes::complete)
    };
    path(&node).map(Some).ok_or_else(|| Error::internal("the log has lost a tile"))
}

fn needed(path: impl Fn(Nodes<'_>) -> Option<Vec<Hash>>) -> Option<Vec<TileId>> {
    let ids = RefCell::new(Vec::new());
    path(&|level, index| {
        ids.borrow_mut().push(tile_of(level, index).0);
        Some([0; 32])
    })?;
    Some(ids.into_inner())
}
