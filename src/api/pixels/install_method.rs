use rocket::Request;
use rocket::request::{FromRequest, Outcome};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::problem;
use crate::http::query::Query;
use crate::http::refusals::Refuses;
use crate::pixels::input::offered_method;

/// The guard that refuses install methods in the query that the service does not offer. The caller's
/// key is checked before, so that only authenticated callers get this refusal.
pub struct OfferedMethod;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for OfferedMethod {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let query = Query::of(request);
        problem::outcome(request, offered_method(query.get("method")).map(|()| Self))
    }
}

impl Refuses for OfferedMethod {
    fn refusals() -> Vec<Error> {
        vec![Error::InstallMethodUnavailable]
    }
}

/// The query parameter that [`OfferedMethod`] reads.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "describes the parameter")]
pub struct MethodQuery {
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    method: Option<String>,
}

/// A body that may name an install method.
#[derive(Deserialize, ToSchema)]
pub struct UnneededBody {
    method: Option<String>,
}

/// Like [`OfferedMethod`], for a body that the route does not need. Its other content is ignored.
pub fn check_unneeded(body: &Body) -> Result<()> {
    let request = body.json::<UnneededBody>();
    offered_method(request.ok().and_then(|request| request.method).as_deref())
}
