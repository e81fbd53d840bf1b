//! Lookups of latest receipts on a cluster: each lookup is queued for the shard of its pixel, whose task reads the
//! receipts in batches. The task also resolves the aliases of a batch, with one more statement. A large batch costs
//! little more than a small one, so a busy shard waits one to two milliseconds to fill it.

use std::collections::HashMap;

use futures_util::FutureExt;

use super::alias_cache::AliasCache;
use super::shard_queues::{Batches, ShardQueues};
use super::shards::Shards;
use crate::error::Error;
use crate::infra::postgres::Database;
use crate::infra::postgres::dedicated_connection::{DedicatedConnection, LiveConnection};
use crate::receipts::check::lookup::{BATCH, Lookup, Reply, refuse_all, reply_all};
use crate::receipts::store::latest_of_pixels::{PixelVisitor, list_latest};
use crate::receipts::store::named_pixels::list_named;
use crate::types::ids::PixelId;

/// Batch size for which the lookups of a busy shard wait briefly (measured: bench/cluster.md).
const ENOUGH: usize = 16;

/// A lookup, queued for the shard of the pixel that the cache has for its name.
struct Routed {
    lookup: Lookup,
    cached: PixelId,
}

/// A lookup whose pixel is resolved.
struct Resolved {
    visitor: PixelVisitor,
    reply: Reply,
}

impl AsRef<PixelVisitor> for Resolved {
    fn as_ref(&self) -> &PixelVisitor {
        &self.visitor
    }
}

/// Distributes lookups to the queues of their shards.
pub struct LookupRouter {
    queues: ShardQueues<Routed>,
    aliases: AliasCache,
}

impl LookupRouter {
    pub fn new(database: &Database) -> Self {
        let batches = Batches { most: BATCH, enough: Some(ENOUGH) };
        let aliases = AliasCache::new();
        let of_shard = aliases.clone();
        let queues = ShardQueues::new(database, batches, move |connection, batch| {
            let aliases = of_shard.clone();
            async move { find_routed(connection, &aliases, batch).await }.boxed()
        });
        Self { queues, aliases }
    }

    /// Queues each lookup for the shard of its pixel.
    pub async fn route(
        &self,
        connection: &mut DedicatedConnection,
        shards: &Shards,
        batch: Vec<Lookup>,
    ) {
        let names = batch.iter().map(|lookup| lookup.visitor.pixel.as_str()).collect::<Vec<_>>();
        let routing = async |live: &mut LiveConnection| {
            let pixels = self.aliases.pixels_of(live, &names).await?;
            let pixel_ids = pixels.iter().map(PixelId::as_str).collect::<Vec<_>>();
            let shard_ids = shards.of(live, &pixel_ids).await?;
            Ok(pixels.into_iter().zip(shard_ids))
        };
        let routes = match connection.run(routing).await {
            Ok(routes) => routes,
            Err(error) => return refuse_all(batch.into_iter().map(|lookup| lookup.reply), &error),
        };
        for (lookup, (cached, shard)) in batch.into_iter().zip(routes) {
            if let Err(refused) = self.queues.hand_over(shard, Routed { lookup, cached }) {
                refuse_all([refused.lookup.reply], &Error::Busy { retry_after: 1 });
            }
        }
    }
}

/// Resolves the names in a shard's lookups, and replies.
async fn find_routed(
    connection: &mut DedicatedConnection,
    aliases: &AliasCache,
    mut batch: Vec<Routed>,
) {
    batch.retain(|routed| !routed.lookup.reply.is_closed());
    if batch.is_empty() {
        return;
    }
    let names = batch.iter().map(|routed| routed.lookup.visitor.pixel.as_str());
    let names = names.collect::<Vec<_>>();
    let resolving =
        async |live: &mut LiveConnection| list_named(&mut live.connection, &names).await;
    let named = match connection.run(resolving).await {
        Ok(named) => named,
        Err(error) => {
            return refuse_all(batch.into_iter().map(|routed| routed.lookup.reply), &error);
        }
    };
    let (mut here, mut elsewhere) = (Vec::with_capacity(batch.len()), HashMap::new());
    for Routed { lookup: Lookup { visitor, reply }, cached } in batch {
        let pixel = named[visitor.pixel.as_str()].clone();
        let group = if pixel.pixel_id == cached {
            &mut here
        } else {
            aliases.correct(visitor.pixel.as_str(), &pixel.pixel_id).await;
            elsewhere.entry(pixel.pixel_id.clone()).or_insert_with(Vec::new)
        };
        let visitor = PixelVisitor { pixel, visitor_id: visitor.visitor_id };
        group.push(Resolved { visitor, reply });
    }
    if !here.is_empty() {
        find_resolved(connection, here).await;
    }
    // These names now belong to other pixels, which may be in other shards, so each pixel is read with a statement
    // of its own.
    for mut moved in elsewhere.into_values() {
        moved.retain(|resolved| !resolved.reply.is_closed());
        if !moved.is_empty() {
            find_resolved(connection, moved).await;
        }
    }
}

/// Reads the latest receipts for pixels of one shard, and replies.
async fn find_resolved(connection: &mut DedicatedConnection, batch: Vec<Resolved>) {
    let reading = async |live: &mut LiveConnection| list_latest(&mut live.connection, &batch).await;
    let found = connection.run(reading).await;
    reply_all(batch.into_iter().map(|resolved| resolved.reply), found);
}
