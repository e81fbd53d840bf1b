use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::store;
use super::view::{ErasureRequestStatus, ErasureRequestView};
use super::visitor;
use crate::accounts::access::Caller;
use crate::error::{BODY, Error, FieldError, Result};
use crate::infra::Infra;
use crate::pixels::lock_pixel;
use crate::pixels::pixel::Pixel;
use crate::pixels::setup::find_for;
use crate::types::ids::PixelId;
use crate::types::text::{page_limit, present};

/// The maximum and default number of requests of a page.
const MOST: i64 = 200;
const LONGEST_REASON: usize = 1_000;

/// A page of a pixel's requests, oldest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ErasureRequestPage {
    pub pixel_id: PixelId,
    pub requests: Vec<ErasureRequestView>,
    /// The next `after`; null after the last page.
    #[schema(required = true)]
    pub next_after: Option<Uuid>,
}

pub struct PageRequest {
    pub pixel_id: String,
    pub status: Option<String>,
    /// The `next_after` of the previous page.
    pub after: Option<String>,
    pub limit: Option<String>,
}

pub async fn list(
    infra: &Infra,
    caller: &Caller,
    request: &PageRequest,
) -> Result<ErasureRequestPage> {
    let status = read(&request.status, ErasureRequestStatus::parse, "status", STATUS)?;
    let after = read(&request.after, |text| text.parse().ok(), "after", AFTER)?;
    let limit = read(&request.limit, |text| page_limit(text, MOST), "limit", LIMIT)?;
    let limit = limit.unwrap_or(MOST);
    let pixel_id = find_for(infra, caller, &request.pixel_id).await?.pixel_id;
    let mut connection = infra.pool.acquire().await?;
    let mut requests =
        store::list_requests(&mut connection, &pixel_id, status, after, limit + 1).await?;
    let limit = usize::try_from(limit).map_err(Error::internal)?;
    let has_more = requests.len() > limit;
    requests.truncate(limit);
    let next_after = requests.last().filter(|_| has_more).map(|last| last.request_id);
    Ok(ErasureRequestPage { pixel_id, requests, next_after })
}

const STATUS: &str = "must be open, completed or refused";
const AFTER: &str = "must be the next_after of a page";
const LIMIT: &str = "must be from 1 to 200";

fn read<T>(
    text: &Option<String>,
    parse: impl Fn(&str) -> Option<T>,
    name: &str,
    wanted: &str,
) -> Result<Option<T>> {
    let Some(text) = present(text.as_deref()) else { return Ok(None) };
    let wrong =
        || Error::Validation(vec![FieldError::new(&["query", name], wanted, "value_error")]);
    parse(text).map(Some).ok_or_else(wrong)
}

/// A request of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfRequest {
    pub pixel_id: String,
    pub request_id: String,
}

/// Erases the visitor and completes the request. Idempotent.
pub async fn complete(
    infra: &Infra,
    caller: &Caller,
    request: &OfRequest,
) -> Result<ErasureRequestView> {
    close(infra, caller, request, async |connection, pixel, found| {
        let pixel_id = &pixel.pixel_id;
        match (found.status, &found.visitor_id) {
            (ErasureRequestStatus::Open, Some(visitor_id)) => {
                let clock = &infra.clock;
                let erased = visitor::erase(connection, clock, pixel_id, visitor_id).await?;
                visitor::note(connection, clock, caller, &pixel.account_id, pixel_id).await?;
                tracing::info!(%pixel_id, ?erased, "visitor erased on request");
                Ok(())
            }
            (ErasureRequestStatus::Completed, _) => Ok(()),
            _ => Err(Error::ErasureRequestClosed),
        }
    })
    .await
}

/// Refuses the request with a reason. Idempotent for the same reason.
pub async fn refuse(
    infra: &Infra,
    caller: &Caller,
    request: &OfRequest,
    reason: Option<&str>,
) -> Result<ErasureRequestView> {
    let reason = present(reason).ok_or(Error::ReasonRequired)?;
    if reason.chars().count() > LONGEST_REASON {
        let msg = format!("must have at most {LONGEST_REASON} characters");
        let wrong = FieldError::new(&[BODY, "reason"], msg, "value_error");
        return Err(Error::Validation(vec![wrong]));
    }
    let now = infra.clock.now();
    close(infra, caller, request, async |connection, pixel, found| match found.status {
        ErasureRequestStatus::Open => {
            store::update_refused(connection, &pixel.pixel_id, found.request_id, now, reason).await
        }
        ErasureRequestStatus::Refused if found.reason.as_deref() == Some(reason) => Ok(()),
        _ => Err(Error::ErasureRequestClosed),
    })
    .await
}

async fn close(
    infra: &Infra,
    caller: &Caller,
    request: &OfRequest,
    act: impl AsyncFnOnce(&mut PgConnection, &Pixel, &ErasureRequestView) -> Result<()>,
) -> Result<ErasureRequestView> {
    let pixel = find_for(infra, caller, &request.pixel_id).await?;
    let pixel_id = &pixel.pixel_id;
    let not_found = || Error::ErasureRequestNotFound;
    let request_id = request.request_id.parse().map_err(|_| not_found())?;
    let mut transaction = infra.pool.begin().await?;
    lock_pixel(&mut transaction, pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let found = store::find_request(&mut transaction, pixel_id, request_id).await?;
    act(&mut transaction, &pixel, &found.ok_or_else(not_found)?).await?;
    let closed = store::find_request(&mut transaction, pixel_id, request_id).await?;
    transaction.commit().await?;
    closed.ok_or_else(not_found)
}
