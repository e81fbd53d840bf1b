//! What can be asked for about erasing visitors.

use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use super::owner::{self, ErasureRequestPage, OfRequest, PageRequest};
use super::request::{self, ErasureReceived, ErasureRequest};
use super::view::{ErasedRows, ErasureRequestView};
use super::visitor::{self, ErasedVisitor};
use crate::accounts::access::{ActiveAccount, Anybody, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, FieldError, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::receipts::service::Receipts;

/// A visitor of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfVisitor {
    pub pixel_id: String,
    /// As the consent tag made it.
    pub visitor_id: String,
}

/// What a pixel has of a visitor is erased; nothing is fine too.
pub struct EraseVisitor;

impl Capability for EraseVisitor {
    const NAME: &'static str = "erase_visitor";
    const TOOL: Option<Tool> =
        Some(Tool::DESTRUCTIVE.idempotent().described(
            "Erases what the pixel has of a visitor, receipts included. Cannot be undone.",
        ));
    type Part = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfVisitor;
    type Output = ErasedVisitor;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, visitor::malformed()]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfVisitor) -> Result<ErasedVisitor> {
        visitor::erase_visitor(infra, &caller, &request.pixel_id, &request.visitor_id).await
    }
}

/// How much a pixel has of a visitor. Only the console asks, before it erases.
pub struct CountVisitor;

impl Capability for CountVisitor {
    const NAME: &'static str = "count_visitor";
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfVisitor;
    type Output = ErasedRows;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, visitor::malformed()]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfVisitor) -> Result<ErasedRows> {
        visitor::count_visitor(infra, &caller, &request.pixel_id, &request.visitor_id).await
    }
}

/// A visitor asks for erasure.
pub struct RequestErasure;

impl Capability for RequestErasure {
    const NAME: &'static str = "request_erasure";
    const LIMIT: Option<Limit> = Some(Limit::ErasureRequests);
    type Part = Receipts;
    type Access = Anybody;
    type Input = ErasureRequest;
    type Output = ErasureReceived;

    fn refusals() -> Vec<Error> {
        vec![missing_field("visitor_id"), TooManyRequests { retry_after: 1 }]
    }

    async fn run(receipts: &Receipts, (): (), request: ErasureRequest) -> Result<ErasureReceived> {
        request::receive(receipts, &request).await
    }
}

/// A page of what visitors ask to have erased.
pub struct ListErasureRequests;

impl Capability for ListErasureRequests {
    const NAME: &'static str = "list_erasure_requests";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Lists visitors who ask to be erased, oldest first; each must be answered by `due_at`.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = ErasureRequestPage;

    fn refusals() -> Vec<Error> {
        let limit = FieldError::new(&["query", "limit"], "must be from 1 to 200", "value_error");
        vec![PixelNotFound, Validation(vec![limit])]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: PageRequest,
    ) -> Result<ErasureRequestPage> {
        owner::list(infra, &caller, &request).await
    }
}

/// A request is met: the visitor is erased.
pub struct CompleteErasureRequest;

impl Capability for CompleteErasureRequest {
    const NAME: &'static str = "complete_erasure_request";
    const TOOL: Option<Tool> = Some(
        Tool::DESTRUCTIVE
            .idempotent()
            .described("Erases the visitor who asks for it. Cannot be undone."),
    );
    type Part = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfRequest;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, ErasureRequestNotFound, ErasureRequestClosed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfRequest) -> Result<ErasureRequestView> {
        owner::complete(infra, &caller, &request).await
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

/// A request is not met, for a reason.
pub struct RefuseErasureRequest;

impl Capability for RefuseErasureRequest {
    const NAME: &'static str = "refuse_erasure_request";
    const TOOL: Option<Tool> =
        Some(Tool::ADDITIVE.idempotent().described(
            "Closes a request without erasing anybody, for a reason that the law accepts.",
        ));
    type Part = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = RefuseRequest;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        let mut refusals = CompleteErasureRequest::refusals();
        refusals.extend([ReasonRequired, missing_field("reason")]);
        refusals
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        input: RefuseRequest,
    ) -> Result<ErasureRequestView> {
        let RefuseRequest { request, refusal } = input;
        owner::refuse(infra, &caller, &request, refusal.reason.as_deref()).await
    }
}
