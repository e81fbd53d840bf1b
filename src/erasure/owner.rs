use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use super::view::{ErasureRequestStatus, ErasureRequestView};
use super::{contact, store, visitor};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::{BODY, Error, FieldError, Result, missing_field};
use crate::infra::Infra;
use crate::pixels::lock_pixel;
use crate::pixels::pixel::Pixel;
use crate::pixels::setup::find_for;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelId, PixelParam};
use crate::types::paging::{Page, wrong_limit};
use crate::types::parameter;
use crate::types::text::present;

/// The maximum and default number of requests of a page.
const MOST: u16 = 200;
const STATUS: &str = "must be open, completed or refused";
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
    pub pixel_id: PixelParam,
    pub status: Option<String>,
    /// The `next_after` of the previous page.
    pub after: Option<String>,
    pub limit: Option<String>,
}

pub struct ListErasureRequests;

impl Capability for ListErasureRequests {
    const NAME: &'static str = "list_erasure_requests";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List erasure requests",
        "Lists visitors who ask to be erased, oldest first; each must be answered by `due_at`.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = ErasureRequestPage;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_limit(MOST)]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: PageRequest,
    ) -> Result<ErasureRequestPage> {
        let PageRequest { pixel_id, status, after, limit } = &request;
        let parse = ErasureRequestStatus::parse;
        let status = parameter::read("status", status, STATUS, parse)?;
        let page = Page::read("after", after, limit, MOST, |text| text.parse().ok())?;
        let pixel_id = find_for(&infra.pool, &caller, pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let (start, rows) = (page.start, page.rows());
        let listing = store::list_requests(&mut connection, &pixel_id, status, start, rows);
        let mut requests = listing.await?;
        let next_after = page.cut(&mut requests).map(|last| last.request_id);
        Ok(ErasureRequestPage { pixel_id, requests, next_after })
    }
}

/// A request of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfRequest {
    pub pixel_id: PixelParam,
    pub request_id: IdParam<Uuid>,
}

/// Erases the visitor, and closes the request by it. One that was completed already stays so.
pub struct CompleteErasureRequest;

impl Capability for CompleteErasureRequest {
    const NAME: &'static str = "complete_erasure_request";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Complete an erasure request",
        "Erases the visitor who asks for it. Cannot be undone.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfRequest;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::ErasureRequestNotFound, Error::ErasureRequestClosed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfRequest) -> Result<ErasureRequestView> {
        close(&infra.pool, &caller, &request, async |connection, pixel, found| {
            let Pixel { pixel_id, account_id, .. } = pixel;
            match (found.status, &found.visitor_id, found.hem) {
                (ErasureRequestStatus::Open, Some(visitor_id), _) => {
                    let clock = &infra.clock;
                    let erased = visitor::erase(connection, clock, pixel_id, visitor_id).await?;
                    visitor::record(connection, &infra.clock, &caller, account_id, pixel_id)
                        .await?;
                    tracing::info!(%pixel_id, ?erased, "visitor erased on request");
                    Ok(())
                }
                (ErasureRequestStatus::Open, None, Some(hem)) => {
                    let erased = contact::erase(connection, &infra.clock, pixel_id, hem).await?;
                    contact::record(connection, &infra.clock, &caller, account_id, pixel_id)
                        .await?;
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
    type Service = Infra;
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
        close(&infra.pool, &caller, &request, async |connection, pixel, found| match found.status {
            ErasureRequestStatus::Open => {
                let Pixel { pixel_id, account_id, .. } = pixel;
                store::update_refused(connection, pixel_id, found.request_id, now, reason).await?;
                let (kind, subject) = (ActivityKind::ErasureRefused, Some(pixel_id.as_str()));
                caller.record(connection, now, account_id, kind, subject).await
            }
            ErasureRequestStatus::Refused if found.reason.as_deref() == Some(reason) => Ok(()),
            _ => Err(Error::ErasureRequestClosed),
        })
        .await
    }
}

async fn close(
    pool: &PgPool,
    caller: &Caller,
    request: &OfRequest,
    act: impl AsyncFnOnce(&mut PgConnection, &Pixel, &ErasureRequestView) -> Result<()>,
) -> Result<ErasureRequestView> {
    let pixel = find_for(pool, caller, &request.pixel_id).await?;
    let pixel_id = &pixel.pixel_id;
    let not_found = || Error::ErasureRequestNotFound;
    let request_id = request.request_id.into_id().ok_or_else(not_found)?;
    let mut transaction = pool.begin().await?;
    lock_pixel(&mut transaction, pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let found = store::find_request(&mut transaction, pixel_id, request_id).await?;
    act(&mut transaction, &pixel, &found.ok_or_else(not_found)?).await?;
    let closed = store::find_request(&mut transaction, pixel_id, request_id).await?;
    transaction.commit().await?;
    closed.ok_or_else(not_found)
}
