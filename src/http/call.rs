use rocket::Request;
use rocket::request::{FromRequest, Outcome};
use serde::de::DeserializeOwned;

use super::body::Body;
use super::credentials::credentials_of;
use super::problem;
use super::request_id::Arrival;
use crate::accounts::access::Credentials;
use crate::accounts::capability::{self, CallerOf, Capability};
use crate::app::App;
use crate::error::{Error, Result};

/// An authorised call, counted against its limits. As the first guard of a route, it refuses others before their
/// body is read.
pub struct Call<'r, C: Capability> {
    app: &'r App,
    caller: CallerOf<C>,
}

#[rocket::async_trait]
impl<'r, C: Capability> FromRequest<'r> for Call<'r, C> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of_request(request).await)
    }
}

impl<'r, C: Capability> Call<'r, C> {
    async fn of_request(request: &'r Request<'_>) -> Result<Self> {
        let app = request.rocket().state::<App>();
        let app = app.ok_or_else(|| Error::internal("no app is managed"))?;
        let (accounts, credentials, mut left) =
            (&app.accounts, credentials_of(request), Vec::new());
        let admitted = capability::admit_counted::<C>(accounts, credentials, &mut left).await;
        let _ = Arrival::of(request).limits.set(left);
        Ok(Self { app, caller: admitted? })
    }

    pub async fn of(app: &'r App, credentials: Credentials) -> Result<Self> {
        let caller = capability::admit::<C>(&app.accounts, credentials).await?;
        Ok(Self { app, caller })
    }
}

/// A call or its refusal, for a route that must read a long body before it can answer.
pub struct CallOrRefusal<'r, C: Capability>(pub Result<Call<'r, C>>);

#[rocket::async_trait]
impl<'r, C: Capability> FromRequest<'r> for CallOrRefusal<'r, C> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self(Call::of_request(request).await))
    }
}

impl<C: Capability> Call<'_, C>
where
    App: AsRef<C::Service>,
{
    pub async fn with(self, input: C::Input) -> Result<C::Output> {
        C::run(self.app.as_ref(), self.caller, input).await
    }

    /// Like [`Call::with`], for input in the body. A refusal names possibly misspelt fields.
    pub async fn with_body<T: DeserializeOwned, const LIMIT_KIB: usize>(
        self,
        body: &Body<LIMIT_KIB>,
        input: impl FnOnce(T) -> C::Input,
    ) -> Result<C::Output> {
        let read = body.read::<T>().map_err(|wrong| C::INVALID_INPUT.refusal(wrong))?;
        self.with(input(read)).await.map_err(|refusal| body.hint::<T>(refusal))
    }
}
