//! The log of choices that a pixel's owner reads.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::receipt::{Receipt, ReceiptEnvelope};
use super::store;
use super::terms::ConsentState;
use crate::accounts::Caller;
use crate::error::Result;
use crate::ids::PixelId;
use crate::pixels;
use crate::platform::Platform;

/// Rows that one reading of the log gives at most.
const MAX_ROWS: i64 = 200;

/// One choice: the receipt's fields, and the receipt as it was signed.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ConsentEvent {
    #[serde(flatten)]
    fields: Receipt,
    #[serde(flatten)]
    envelope: ReceiptEnvelope,
}

/// The newest choices of a pixel.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ConsentLog {
    pub pixel_id: PixelId,
    /// Newest first, at most 200.
    pub events: Vec<ConsentEvent>,
}

/// Reads the newest choices, of one state or of all.
pub async fn read_log(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    state: Option<ConsentState>,
) -> Result<ConsentLog> {
    let pixel = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    let mut connection = platform.read_pool.acquire().await?;
    let receipts = store::list_receipts(&mut connection, &pixel.pixel_id, state, MAX_ROWS).await?;
    let events = receipts
        .into_iter()
        .map(|signed| ConsentEvent { fields: signed.receipt.clone(), envelope: signed.into() })
        .collect();
    Ok(ConsentLog { pixel_id: pixel.pixel_id, events })
}
