use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::error::{Error, Result};
use crate::http::client::bots::is_bot;
use crate::http::client::sec_gpc;
use crate::http::header_value::header_of;
use crate::http::limited::client_of;
use crate::http::problem;
use crate::http::refusals::Refuses;
use crate::http::request_id::Arrival;
use crate::infra::limits::per_client::{Client, Limit};
use crate::receipts::record::Provenance;

/// The properties of a request that are known before its body is read.
pub struct VisitorRequest<'r> {
    pub provenance: Provenance,
    client: Client<'r>,
}

impl<'r> VisitorRequest<'r> {
    fn of(request: &'r Request<'_>) -> Result<Self> {
        let headers = request.headers();
        Ok(Self {
            provenance: Provenance {
                arrived_at: Arrival::of(request).at,
                sec_gpc: sec_gpc(headers),
                is_bot: header_of(headers, "User-Agent").is_some_and(|agent| is_bot(&agent)),
                origin: header_of(headers, "Origin").map(|origin| origin.into_owned()),
            },
            client: client_of(request)?,
        })
    }

    /// Counts the request against its client's limit. Refusals of consent have an additional limit, so
    /// that they still succeed when other visitors at the same address have used up the first one.
    pub fn admit(&self, is_refusal: bool) -> Result<()> {
        match self.client.admit(Limit::Visits) {
            Err(_) if is_refusal => Ok(self.client.admit(Limit::Refusals)?),
            admitted => Ok(admitted?),
        }
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for VisitorRequest<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of(request))
    }
}

impl Refuses for VisitorRequest<'_> {
    fn refusals() -> Vec<Error> {
        vec![Error::TooManyRequests { retry_after: 20 }]
    }
}
