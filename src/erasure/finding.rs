use super::owner::OfRequest;
use super::store;
use super::view::ErasureRequestView;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;

/// A request of the caller's pixel, open or closed. A malformed id is not found.
pub struct FindErasureRequest;

impl Capability for FindErasureRequest {
    const NAME: &'static str = "find_erasure_request";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfRequest;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::ErasureRequestNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfRequest) -> Result<ErasureRequestView> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let not_found = || Error::ErasureRequestNotFound;
        let request_id = request.request_id.into_id().ok_or_else(not_found)?;
        let mut connection = infra.pool.acquire().await?;
        let found = store::find_request(&mut connection, &pixel_id, request_id).await?;
        found.ok_or_else(not_found)
    }
}
