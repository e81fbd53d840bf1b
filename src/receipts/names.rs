//! Which pixels the names of questions stand for, as it was a while ago.
//!
//! A name is a pixel's id or one that it had before, and may become another pixel's. What is known here only
//! decides who looks again.

use std::time::Duration;

use super::store::spread::latest::list_named;
use crate::error::Result;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::postgres::kept_connection::LiveConnection;
use crate::types::ids::PixelId;

/// Names that are remembered.
const REMEMBERED: u64 = 20_000;
/// For so long a name is believed to be that of the same pixel.
const BELIEVED: Duration = Duration::from_secs(60);

/// What those who read on a node believe together.
#[derive(Clone)]
pub struct Names {
    pixels: Cache<String, PixelId>,
}

impl Names {
    pub fn new() -> Self {
        Self { pixels: Cache::new(Bounds::entries(REMEMBERED, Some(BELIEVED))) }
    }

    /// The pixel of each name.
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

    /// From now on it is believed to be this pixel's.
    pub async fn correct(&self, name: &str, pixel_id: &PixelId) {
        self.pixels.insert(name.to_owned(), pixel_id.clone()).await;
    }
}
