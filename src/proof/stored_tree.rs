use std::collections::HashMap;

use sqlx::PgConnection;

use super::format::tile::TileId;
use super::format::tree::{Edge, edge_tiles};
use super::store;
use crate::error::{Error, Result};

pub const BUNDLES: i16 = -1;

pub async fn stored_edge(connection: &mut PgConnection, size: u64) -> Result<Edge> {
    let ids = edge_tiles(size).map(stored_id).collect::<Result<Vec<_>>>()?;
    let stored = store::list_tiles(connection, &ids).await?;
    let stored = stored.into_iter().map(|tile| ((tile.level, tile.tile), tile.bytes));
    let stored = stored.collect::<HashMap<_, _>>();
    let hashes = |id| {
        let (bytes, _) = stored.get(&stored_id(id).ok()?)?.as_chunks::<32>();
        Some(bytes.to_vec())
    };
    Edge::of(size, hashes).ok_or_else(|| Error::internal("the log has lost a tile"))
}

pub fn stored_id(id: TileId) -> Result<(i16, i64)> {
    Ok((id.level.into(), signed(id.index)?))
}

pub fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(Error::internal)
}

pub fn unsigned(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(Error::internal)
}
