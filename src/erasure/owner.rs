use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::view::{ErasureRequestStatus, ErasureRequestView};
use super::{contact, store, visitor};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::EventKind;
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::{BODY, Error, FieldError, Result, missing_field};
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

/// Reads a page of requests.
pub struct ListErasureRequests;

impl Capability for ListErasureRequests {
    const NAME: &'static str = "list_erasure_requests";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List erasure requests",
        "Lists visitors who ask to be erased, oldest first; each must be answered by `due_at`.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = ErasureRequestPage;

    fn refusals() -> Vec<Error> {
        let limit = FieldError::new(&["query", "limit"], "must be from 1 to 200", "value_error");
        vec![Error::PixelNotFound, Error::Validation(vec![limit])]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: PageRequest,
    ) -> Result<ErasureRequestPage> {
        let status = read(&request.status, ErasureRequestStatus::parse, "status", STATUS)?;
        let after = read(&request.after, |text| text.parse().ok(), "after", AFTER)?;
        let limit = read(&request.limit, |text| page_limit(text, MOST), "limit", LIMIT)?;
        let limit = limit.unwrap_or(MOST);
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let mut requests =
            store::list_requests(&mut connection, &pixel_id, status, after, limit + 1).await?;
        let limit = usize::try_from(limit).map_err(Error::internal)?;
        let has_more = requests.len() > limit;
        requests.truncate(limit);
        let next_after = requests.last().filter(|_| has_more).map(|last| last.request_id);
        Ok(ErasureRequestPage { pixel_id, requests, next_after })
    }
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

/// Erases the visitor, and closes the request by it. One that was completed already stays so.
pub struct CompleteErasureRequest;

impl Capability for CompleteErasureRequest {
    const NAME: &'static str = "complete_erasure_request";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Complete an erasure request",
        "Erases the visitor who asks for it. Cannot be undone.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfRequest;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::ErasureRequestNotFound, Error::ErasureRequestClosed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfRequest) -> Result<ErasureRequestView> {
        close(infra, &caller, &request, async |connection, pixel, found| {
            let Pixel { pixel_id, account_id, .. } = pixel;
            match (found.status, &found.visitor_id, found.hem) {
                (ErasureRequestStatus::Open, Some(visitor_id), _) => {
                    let clock = &infra.clock;
                    let erased = visitor::erase(connection, clock, pixel_id, visitor_id).await?;
                    visitor::note(connection, &infra.clock, &caller, account_id, pixel_id).await?;
                    tracing::info!(%pixel_id, ?erased, "visitor erased on request");
                    Ok(())
                }
                (ErasureRequestStatus::Open, None, Some(hem)) => {
                    let erased = contact::erase(connection, infra, pixel_id, hem).await?;
                    contact::note(connection, infra, &caller, account_id, pixel_id).await?;
                    tracing::info!(%pixel_id, ?erased, "contact erased on request");
                    Ok(())
                }
                (ErasureRequestStatus::Completed, ..) => Ok(()),
                _ => Err(Error::ErasureRequestClosed),
            }
        })
        .await
    }
}

/// Why a request is refused.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ErasureRefusal {
    /// At most 1,000 characters.
    #[schemars(with = "String")]
    #[schema(value_type = String, max_length = 1_000, pattern = "\\S")]
    pub reason: Option<String>,
}

/// A request, and why it is refused.
#[derive(Deserialize, JsonSchema)]
pub struct RefuseRequest {
    #[serde(flatten)]
    pub request: OfRequest,
    #[serde(flatten)]
    pub refusal: ErasureRefusal,
}

/// Closes the request with a reason. One that was refused for the same reason stays so.
pub struct RefuseErasureRequest;

impl Capability for RefuseErasureRequest {
    const NAME: &'static str = "refuse_erasure_request";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Refuse an erasure request",
        "Closes a request without erasing anybody, for a reason that the law accepts.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = RefuseRequest;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        let mut refusals = CompleteErasureRequest::refusals();
        refusals.extend([Error::ReasonRequired, missing_field("reason")]);
        refusals
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        input: RefuseRequest,
    ) -> Result<ErasureRequestView> {
        let RefuseRequest { request, refusal } = input;
        let reason = present(refusal.reason.as_deref()).ok_or(Error::ReasonRequired)?;
        if reason.chars().count() > LONGEST_REASON {
            let msg = format!("must have at most {LONGEST_REASON} characters");
            let wrong = FieldError::new(&[BODY, "reason"], msg, "value_error");
            return Err(Error::Validation(vec![wrong]));
        }
        let now = infra.clock.now();
        close(infra, &caller, &request, async |connection, pixel, found| match found.status {
            ErasureRequestStatus::Open => {
                let Pixel { pixel_id, account_id, .. } = pixel;
                store::update_refused(connection, pixel_id, found.request_id, now, reason).await?;
                let (kind, subject) = (EventKind::ErasureRefused, Some(pixel_id.as_str()));
                caller.note(connection, now, account_id, kind, subject).await
            }
            ErasureRequestStatus::Refused if found.reason.as_deref() == Some(reason) => Ok(()),
            _ => Err(Error::ErasureRequestClosed),
        })
        .await
    }
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
