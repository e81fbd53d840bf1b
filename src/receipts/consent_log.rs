use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::log_query::{LogFilter, LogQuery, MAX_ROWS, Position};
use super::service::Receipts;
use super::store::reading::{self, StoredReceipt};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::{Receipt, ReceiptEnvelope};
use crate::error::{Error, Result};
use crate::pixels;
use crate::types::ids::{PixelId, PixelParam};
use crate::types::paging::{Page, wrong_limit};

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

impl From<StoredReceipt> for ConsentEvent {
    fn from(StoredReceipt { signed, shown, .. }: StoredReceipt) -> Self {
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
    pub pixel_id: PixelParam,
    pub filter: LogFilter,
    /// Number of choices per page, 1 to 200, in digits.
    pub limit: String,
}

/// Reads a page of a pixel's log, newest first. Every choice recorded before the first page was read is on one
/// of the pages, because new choices come only before them.
pub struct ReadConsentLog;

impl Capability for ReadConsentLog {
    const NAME: &'static str = "read_consent_log";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read the consent log",
        "Reads the choices of the pixel's visitors, newest first, each with its signed receipt; \
         older ones with `before`, until `next_before` is null.",
    ));
    type Service = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = LogRequest;
    type Output = ConsentLog;

    fn refusals() -> Vec<Error> {
        vec![Error::InvalidState, Error::PixelNotFound, wrong_limit(MAX_ROWS)]
    }

    async fn run(receipts: &Receipts, caller: Caller, request: LogRequest) -> Result<ConsentLog> {
        let LogRequest { pixel_id, filter, limit } = &request;
        let (infra, query) = (&receipts.infra, LogQuery::parse(filter, limit)?);
        let pixel_id = pixels::setup::find_for(&infra.pool, &caller, pixel_id).await?.pixel_id;
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
}
