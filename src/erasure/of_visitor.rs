use super::store;
use super::view::ErasureRequestView;
use super::visitor::{OfVisitor, malformed};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::ids::VisitorId;

/// The requests of a visitor of the caller's pixel, newest first, at most 20; none once the visitor is erased.
pub struct FindRequestsOfVisitor;

impl Capability for FindRequestsOfVisitor {
    const NAME: &'static str = "find_requests_of_visitor";
    type Part = Infra;
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
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let visitor_id = VisitorId::parse(&request.visitor_id).ok_or_else(malformed)?;
        let mut connection = infra.pool.acquire().await?;
        store::list_requests_of_visitor(&mut connection, &pixel_id, &visitor_id).await
    }
}
