//! Caches alias → pixel id. Entries may be up to 60 s stale. A name is a pixel's id or an alias, and an alias may be
//! reassigned to another pixel. The cache only selects the shard, whose task resolves the name again.

use std::time::Duration;

use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::postgres::dedicated_connection::LiveConnection;
use crate::receipts::store::named_pixels::list_named;
use crate::types::ids::PixelId;

/// Maximum number of cached names.
const REMEMBERED: u64 = 20_000;
/// Lifetime of an entry.
const BELIEVED: Duration = Duration::from_secs(60);

/// The cache, shared by the readers of a node.
#[derive(Clone)]
pub struct AliasCache {
    pixels: Cache<String, PixelId>,
}

impl AliasCache {
    pub fn new() -> Self {
        Self { pixels: Cache::new(Bounds::entries(REMEMBERED, Some(BELIEVED))) }
    }

    pub async fn pixels_of(
        &self,
        live: &mut LiveConnection,
        names: &[&str],
    ) -> Result<Vec<PixelId>> {
        let reading = |unknown: Vec<_>| async move {
            let named = list_named(&mut live.connection, &unknown).await?;
            Ok(named.into_iter().map(|(name, pixel)| (name, pixel.pixel_id)).collect())
        };
        let pixels = self.pixels.get_all_or_read(names, reading).await?;
        Ok(names.iter().map(|&name| pixels[name].clone()).collect())
    }

    pub async fn correct(&self, name: &str, pixel_id: &PixelId) {
        self.pixels.insert(name.to_owned(), pixel_id.clone()).await;
    }
}
