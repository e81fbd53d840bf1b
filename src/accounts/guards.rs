//! Who calls: request guards, one per family of routes, since each family answers a bad key in
//! its own way (`docs/reference.md`, "Credentials").

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use super::account::{Account, Plan, Status};
use super::credentials::{KeyLookup, look_up_key};
use super::key_attempts::KeyAttempts;
use crate::error::{Error, Result};
use crate::http::problem;
use crate::http::refusals::Refuses;
use crate::ids::AccountId;
use crate::platform::Platform;

/// The account behind a valid API key.
#[derive(Clone, Debug)]
pub struct Caller {
    pub account: Account,
    pub key_prefix: String,
}

impl Caller {
    pub fn account_id(&self) -> &AccountId {
        &self.account.account_id
    }

    /// Whether the caller may read and configure every account's pixels.
    pub fn is_unlimited(&self) -> bool {
        self.account.plan == Plan::Unlimited
    }
}

/// An API key as sent, if one was: `Authorization: Bearer …` first, else `X-API-Key`.
pub struct PresentedKey<'r> {
    pub key: Option<&'r str>,
    /// Whether there was an `Authorization` header at all, usable or not.
    pub authorization_sent: bool,
}

impl<'r> PresentedKey<'r> {
    pub fn of(request: &'r Request<'_>) -> Self {
        let headers = request.headers();
        let authorization = headers.get_one("Authorization");
        let key = authorization
            .and_then(bearer)
            .filter(|key| !key.is_empty())
            .or_else(|| headers.get_one("X-API-Key").map(str::trim))
            .filter(|key| !key.is_empty());
        Self { key, authorization_sent: authorization.is_some() }
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for PresentedKey<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}

/// The credentials of a `Bearer` header; the scheme's case does not matter (RFC 9110, 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, credentials) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credentials.trim())
}

/// The `x-signup-token` header.
pub struct SignupTokenHeader<'r>(pub Option<&'r str>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for SignupTokenHeader<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let header = request.headers().get_one("x-signup-token").map(str::trim);
        Outcome::Success(Self(header.filter(|token| !token.is_empty())))
    }
}

impl Refuses for SignupTokenHeader<'_> {
    fn refusals() -> Vec<Error> {
        vec![Error::SignupTokenRequired, Error::SignupTokenExpired]
    }
}

/// How a family of routes answers when a key does not do.
pub struct KeyRefusals {
    pub missing: Error,
    pub unknown: Error,
    pub revoked: Error,
}

impl KeyRefusals {
    /// Routes that tell who a caller is: always 401.
    pub fn who_am_i() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 401 },
            revoked: Error::ApiKeyRevoked { status: 401 },
        }
    }

    /// Setup, pixel, contact and billing routes: a key that does not do is 403.
    pub fn setup() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 403 },
            revoked: Error::ApiKeyRevoked { status: 403 },
        }
    }

    /// Consent configuration and log: a revoked key is an invalid one.
    pub fn consent() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 401 },
            revoked: Error::InvalidApiKey { status: 401 },
        }
    }

    /// Routes for unlimited keys, which say by themselves what a missing key is called.
    pub fn unlimited(missing: Error) -> Self {
        Self { missing, ..Self::consent() }
    }

    /// Every refusal of the family.
    fn all(self) -> Vec<Error> {
        vec![self.missing, self.unknown, self.revoked]
    }

    /// As [`KeyRefusals::all`], with what the route asks of a caller whose key does.
    fn and(self, refusal: Error) -> Vec<Error> {
        self.all().into_iter().chain([refusal]).collect()
    }
}

/// Finds the caller of a key, or the family's refusal.
pub async fn identify(
    platform: &Platform,
    key: Option<&str>,
    refusals: KeyRefusals,
) -> Result<Caller> {
    let key = key.ok_or(refusals.missing)?;
    let mut connection = platform.pool.acquire().await?;
    match look_up_key(&mut connection, key).await? {
        KeyLookup::Valid { account, prefix } => {
            Ok(Caller { account: *account, key_prefix: prefix })
        }
        KeyLookup::Revoked => Err(refusals.revoked),
        KeyLookup::Unknown => Err(refusals.unknown),
    }
}

/// The caller of a setup route: in good standing, or refused.
pub async fn in_good_standing(platform: &Platform, key: Option<&str>) -> Result<Caller> {
    let caller = identify(platform, key, KeyRefusals::setup()).await?;
    if caller.account.status != Status::Active {
        return Err(Error::NotInGoodStanding);
    }
    Ok(caller)
}

/// The caller of a consent configuration or log route: active, or refused.
pub async fn active(platform: &Platform, key: Option<&str>) -> Result<Caller> {
    let caller = identify(platform, key, KeyRefusals::consent()).await?;
    if caller.account.status != Status::Active {
        return Err(Error::AccountNotActive);
    }
    Ok(caller)
}

/// The caller of a route for unlimited keys only.
pub async fn unlimited(platform: &Platform, key: Option<&str>, missing: Error) -> Result<Caller> {
    let caller = identify(platform, key, KeyRefusals::unlimited(missing)).await?;
    if caller.account.status != Status::Active {
        return Err(Error::NotInGoodStanding);
    }
    if !caller.is_unlimited() {
        return Err(Error::UnlimitedKeyRequired { status: 403 });
    }
    Ok(caller)
}

/// Declares a guard that wraps the caller a function finds.
macro_rules! caller_guard {
    ($(#[$doc:meta])* $name:ident, |$platform:ident, $key:ident| $find:expr, $refusals:expr) => {
        $(#[$doc])*
        pub struct $name(pub Caller);

        #[rocket::async_trait]
        impl<'r> FromRequest<'r> for $name {
            type Error = ();

            async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
                let Some($platform) = request.rocket().state::<Platform>() else {
                    return problem::reject(request, Error::internal("no platform is managed"));
                };
                let $key = PresentedKey::of(request).key;
                let found = match KeyAttempts::of(request) {
                    Ok(attempts) => attempts.watch($key, $find).await,
                    Err(error) => Err(error),
                };
                problem::outcome(request, found.map(Self))
            }
        }

        impl Refuses for $name {
            fn refusals() -> Vec<Error> {
                let mut refusals = KeyAttempts::refusals();
                refusals.extend($refusals);
                refusals
            }
        }
    };
}

caller_guard!(
    /// Setup, pixel, contact and billing routes.
    GoodStanding,
    |platform, key| in_good_standing(platform, key),
    KeyRefusals::setup().and(Error::NotInGoodStanding)
);
caller_guard!(
    /// Consent configuration, log and stats.
    ActiveAccount,
    |platform, key| active(platform, key),
    KeyRefusals::consent().and(Error::AccountNotActive)
);
caller_guard!(
    /// Routes that tell who a caller is.
    AnyKey,
    |platform, key| identify(platform, key, KeyRefusals::who_am_i()),
    KeyRefusals::who_am_i().all()
);
caller_guard!(
    /// `POST /v1/accounts/{account_id}/activate`.
    ActivatingKey,
    |platform, key| unlimited(platform, key, Error::UnlimitedKeyRequired { status: 401 }),
    KeyRefusals::unlimited(Error::UnlimitedKeyRequired { status: 401 })
        .and(Error::NotInGoodStanding)
        .into_iter()
        .chain([Error::UnlimitedKeyRequired { status: 403 }])
);
caller_guard!(
    /// `POST /v1/pixels/pipeline`.
    PipelineKey,
    |platform, key| unlimited(platform, key, Error::ApiKeyRequired),
    KeyRefusals::unlimited(Error::ApiKeyRequired)
        .and(Error::NotInGoodStanding)
        .into_iter()
        .chain([Error::UnlimitedKeyRequired { status: 403 }])
);
