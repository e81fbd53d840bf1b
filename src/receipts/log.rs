use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::log_query::{LogFilter, LogQuery, Position};
use super::notice_snapshot::Shown;
use super::receipt::{Receipt, ReceiptEnvelope};
use super::store::reading::{self, Placed};
use crate::accounts::access::Caller;
use crate::error::Result;
use crate::infra::Infra;
use crate::pixels;
use crate::types::ids::PixelId;
use crate::types::paging::Page;

/// One choice: the receipt's fields, and the receipt as it was signed.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ConsentEvent {
    #[serde(flatten)]
    pub fields: Receipt,
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
    /// What the visitor saw, as the consent tag said it; null when nothing did.
    #[schema(required = true)]
    pub shown: Option<Shown>,
}

impl From<Placed> for ConsentEvent {
    fn from(Placed { signed, shown, .. }: Placed) -> Self {
        Self { fields: signed.receipt.clone(), envelope: signed.into(), shown }
    }
}

/// The newest choices of a pixel, or a page of older ones.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ConsentLog {
    pub pixel_id: PixelId,
    /// Newest first, at most 200.
    pub events: Vec<ConsentEvent>,
    /// The next `before`; null when there are no older choices.
    pub next_before: Option<String>,
}

pub struct LogRequest {
    pub pixel_id: String,
    pub filter: LogFilter,
    /// Number of choices per page, 1 to 200, in digits.
    pub limit: String,
}

/// Reads a page of the log. Every choice recorded before the first page was read is on one of the pages,
/// because new choices come only before them.
pub async fn read_log(infra: &Infra, caller: &Caller, request: &LogRequest) -> Result<ConsentLog> {
    let query = LogQuery::parse(&request.filter, &request.limit)?;
    let pixel_id = pixels::setup::find_for(infra, caller, &request.pixel_id).await?.pixel_id;
    let mut connection = infra.read_pool.acquire().await?;
    let page = Page::of(query.before, query.limit);
    let mut rows = reading::list_page(&mut connection, &pixel_id, &query, page.rows()).await?;
    let last = page.cut(&mut rows).map(|last| Position {
        time: query.is_by_time().then_some(last.signed.receipt.recorded_at),
        seq: last.seq,
    });
    let events = rows.into_iter().map(ConsentEvent::from).collect();
    Ok(ConsentLog { pixel_id, events, next_before: last.map(Position::to_text) })
}
