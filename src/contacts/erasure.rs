//! Erasing a person who asks for it.

use super::contact::Hem;
use super::store;
use crate::accounts::Caller;
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::pixels;
use crate::pixels::store::lock_pixel;
use crate::platform::Platform;

/// Deletes what a pixel stores of a person; nothing stored is fine too.
///
/// Waits for a store that runs: else it could count as an update what is gone by then.
pub async fn erase(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    hem: &Hem,
) -> Result<PixelId> {
    let pixel = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    let mut transaction = platform.pool.begin().await?;
    lock_pixel(&mut transaction, &pixel.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    store::delete_contact(&mut transaction, &pixel.pixel_id, hem).await?;
    transaction.commit().await?;
    tracing::info!(pixel_id = %pixel.pixel_id, "contact erased");
    Ok(pixel.pixel_id)
}
