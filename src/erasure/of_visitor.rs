use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::authorities::{self, SupervisoryAuthority};
use super::request::ErasureRequest;
use super::store;
use super::view::{ErasureRequestStatus, ErasureRequestView};
use super::visitor::{OfVisitor, malformed};
use crate::accounts::access::{ActiveAccount, Anybody, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::clock::Timestamp;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::pixels::setup::find_for;
use crate::policies::sites::Site;
use crate::receipts::service::Receipts;

/// The requests of a visitor of the caller's pixel, newest first, at most 20; none once the visitor is erased.
pub struct FindRequestsOfVisitor;

impl Capability for FindRequestsOfVisitor {
    const NAME: &'static str = "find_requests_of_visitor";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfVisitor;
    type Output = Vec<ErasureRequestView>;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, malformed()]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: OfVisitor,
    ) -> Result<Vec<ErasureRequestView>> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let visitor_id = request.visitor_id.into_id().ok_or_else(malformed)?;
        let mut connection = infra.pool.acquire().await?;
        store::list_requests_of_visitor(&mut connection, &pixel_id, &visitor_id).await
    }
}

/// A request as its visitor may read it.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct OwnRequest {
    pub requested_at: Timestamp,
    /// When the site must have answered, 30 days later.
    pub due_at: Timestamp,
    pub status: ErasureRequestStatus,
    #[schema(required = true)]
    pub closed_at: Option<Timestamp>,
    /// Why the site refused it.
    #[schema(required = true)]
    pub reason: Option<String>,
}

impl From<ErasureRequestView> for OwnRequest {
    fn from(view: ErasureRequestView) -> Self {
        let ErasureRequestView { requested_at, due_at, status, closed_at, reason, .. } = view;
        Self { requested_at, due_at, status, closed_at, reason }
    }
}

/// The requests of a visitor to one site, newest first, at most 20.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct OwnRequests {
    pub requests: Vec<OwnRequest>,
    /// Where the visitor can complain about a refusal: the authority of the country that the notice names. Null
    /// without a refused request, and for other countries.
    #[schema(required = true)]
    pub authority: Option<SupervisoryAuthority>,
}

impl OwnRequests {
    const NONE: Self = Self { requests: Vec::new(), authority: None };

    fn of(site: &Site, found: Vec<ErasureRequestView>) -> Self {
        let requests = found.into_iter().map(OwnRequest::from).collect::<Vec<_>>();
        let is_refused = |request: &OwnRequest| request.status == ErasureRequestStatus::Refused;
        let policy = site.policy.as_ref().filter(|_| requests.iter().any(is_refused));
        let country = policy.and_then(|policy| policy.text.controller.jurisdiction.as_deref());
        Self { authority: country.and_then(authorities::find), requests }
    }
}

/// Reads what became of a visitor's requests. A completed one is not found: it contains no visitor id any more.
pub struct ReadOwnRequests;

impl Capability for ReadOwnRequests {
    const NAME: &'static str = "read_own_erasure_requests";
    const LIMIT: Option<Limit> = Some(Limit::Histories);
    type Service = Receipts;
    type Access = Anybody;
    type Input = ErasureRequest;
    type Output = OwnRequests;

    fn refusals() -> Vec<Error> {
        vec![missing_field("visitor_id")]
    }

    async fn run(receipts: &Receipts, (): (), request: ErasureRequest) -> Result<OwnRequests> {
        let (pixel, visitor_id) = request.ids()?;
        let ids = pixel.into_id().zip(visitor_id.into_id());
        let Some((pixel, visitor_id)) = ids else { return Ok(OwnRequests::NONE) };
        let Some(site) = receipts.sites.find(&pixel).await? else { return Ok(OwnRequests::NONE) };
        let mut connection = receipts.infra.pool.acquire().await?;
        let pixel_id = &site.pixel.pixel_id;
        let found = store::list_requests_of_visitor(&mut connection, pixel_id, &visitor_id).await?;
        Ok(OwnRequests::of(&site, found))
    }
}
