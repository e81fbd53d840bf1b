//! HTTP routes of accounts, confirmation and keys.

use std::collections::BTreeMap;

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{State, get, post};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::openapi::{RefOr, Response};
use utoipa::{IntoResponses, ToSchema};

use super::account::{self, AccountView};
use super::activation::{self, Activated};
use super::code_requests::{self, CodeRequest, CodeSent};
use super::confirmation::{self, ConfirmRequest, Confirmation, Resent};
use super::email::Email;
use super::guards::{ActivatingKey, AnyKey, PresentedKey, SignupTokenHeader};
use super::key_attempts::KeyAttempts;
use super::key_issuing::{self, IssuedKey};
use super::plans::{self, PlanList};
use super::signup::{self, OpenedAccount, SignupRequest};
use super::token_renewal::{self, RenewalRequest, RenewedToken};
use crate::error::{Error, Result};
use crate::http::body::{Body, missing_field};
use crate::http::described::described_routes;
use crate::http::headers::IsHead;
use crate::http::html::{Page, WantsHtml};
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::rate_limit::{Client, Codes, KeyIssues, Limited, Mails, Signups};
use crate::http::refusals::{self, Refuses, refusals};
use crate::ids::AccountId;
use crate::platform::{Platform, postgres};

described_routes![
    healthz,
    list_plans,
    open,
    show,
    verify,
    confirm,
    resend_mail,
    resend_code,
    renew_token,
    activate,
    issue_key
];

/// The service and its database answer.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Health {
    /// Always true.
    pub ok: bool,
}

refusals!(HealthzRefusals: [] DatabaseUnavailable);

/// Whether the service and its database answer
#[utoipa::path(
    tag = "Service",
    responses((status = 200, description = "Both answer", body = Health), HealthzRefusals),
)]
#[get("/healthz")]
async fn healthz(platform: &State<Platform>) -> Result<Json<Health>> {
    match postgres::is_alive(&platform.pool).await {
        true => Ok(Json(Health { ok: true })),
        false => Err(Error::DatabaseUnavailable),
    }
}

/// The plans that there are
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "All plans", body = PlanList)),
)]
#[get("/v1/plans")]
fn list_plans() -> Json<PlanList> {
    Json(plans::offered())
}

refusals!(OpenRefusals: [Limited<Signups>, Body, Platform] InvalidEmail, DisplayNameRequired, InvalidRequest,
    EmailRegistered, ExternalUserRegistered, ConfirmationMailFailed);

/// Open an account
///
/// Starts a trial of 30 days and mails a link and a code to the address. With an unlimited key
/// no mail is sent, and the answer brings an API key at once.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "open_account",
    security((), ("api_key" = []), ("x_api_key" = [])),
    request_body = SignupRequest,
    responses((status = 201, description = "The account", body = OpenedAccount), OpenRefusals),
)]
#[post("/v1/accounts", data = "<body>")]
async fn open(
    platform: &State<Platform>,
    client: Client<'_>,
    key: PresentedKey<'_>,
    body: Body,
) -> Result<Custom<Json<OpenedAccount>>> {
    let signup = body.json::<SignupRequest>()?.check()?;
    let by_operator = signup::is_unlimited_key(platform, key.key).await?;
    if !by_operator {
        client.admit::<Signups>()?;
    }
    let opened = signup::open_account(platform, by_operator, signup).await?;
    Ok(Custom(Status::Created, Json(opened)))
}

refusals!(ShowRefusals: [SignupTokenHeader<'_>, Platform]);

/// An account, as its signup token may see it
///
/// To be asked again until `email_verified` is true and, after checkout, `status` is `active`.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "show_account",
    security(("signup_token" = [])),
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The account", body = AccountView), ShowRefusals),
)]
#[get("/v1/accounts/<account_id>")]
async fn show(
    platform: &State<Platform>,
    account_id: &str,
    token: SignupTokenHeader<'_>,
) -> Result<Json<AccountView>> {
    account::show(platform, account_id, token.0).await.map(Json)
}

enum VerifyRefusals {}

impl IntoResponses for VerifyRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut errors = Platform::refusals();
        errors.extend([
            Error::VerificationTokenRequired,
            Error::VerificationLinkExpired,
            Error::VerificationLinkNotFound,
        ]);
        refusals::responses_or_pages(&errors)
    }
}

/// The link of the confirmation mail
///
/// For a browser: whoever accepts `text/html` reads its refusals as pages. A second use says the
/// same again.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "verify_email",
    params(("token" = String, Query, pattern = "\\S", description = "As mailed.")),
    responses((status = 200, description = "Email confirmed", content_type = "text/html", body = String), VerifyRefusals),
)]
#[get("/v1/email/verify")]
async fn verify(
    platform: &State<Platform>,
    query: Query,
    html: WantsHtml,
    head: IsHead,
) -> std::result::Result<Page, Result<Page>> {
    let confirmed = async {
        let token = query.present("token").ok_or(Error::VerificationTokenRequired)?;
        match head.0 {
            true => confirmation::check_link(platform, token).await,
            false => confirmation::confirm_by_link(platform, token).await.map(|_| ()),
        }
    };
    match confirmed.await {
        Ok(()) => {
            let next = "You can close this page and go back to where you signed up.";
            Ok(Page::message(200, "ok", "Email confirmed", &[next]))
        }
        Err(error) if html.0 => Err(Ok(Page::of_error(&error))),
        Err(error) => Err(Err(error)),
    }
}

refusals!(ConfirmRefusals: [Limited<Codes>, Body, Platform] AccountNotFound, InvalidCode,
    TooManyAttempts { retry_after: 60 }, missing_field("code"));

/// Confirm the address by the code of the mail
#[utoipa::path(
    tag = "Accounts",
    operation_id = "confirm_email",
    params(("account_id" = AccountId, Path)),
    request_body = ConfirmRequest,
    responses((status = 200, description = "Confirmed, now or before", body = Confirmation), ConfirmRefusals),
)]
#[post("/v1/accounts/<account_id>/confirm", data = "<body>")]
async fn confirm(
    platform: &State<Platform>,
    _limited: Limited<Codes>,
    account_id: &str,
    body: Body,
) -> Result<Json<Confirmation>> {
    let request = body.validated::<ConfirmRequest>()?;
    let account_id = AccountId::parse(account_id).ok_or(Error::AccountNotFound)?;
    confirmation::confirm_by_code(platform, &account_id, &request).await.map(Json)
}

refusals!(ResendMailRefusals: [Limited<Mails>, SignupTokenHeader<'_>, Platform] AccountNotFound, ConfirmationMailFailed,
    ConfirmationMailTooSoon { retry_after: 60 });

/// Mail another link and code
///
/// At most once a minute.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "resend_confirmation",
    security(("signup_token" = [])),
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "Sent, or not needed", body = Resent), ResendMailRefusals),
)]
#[post("/v1/accounts/<account_id>/verification-email")]
async fn resend_mail(
    platform: &State<Platform>,
    _limited: Limited<Mails>,
    account_id: &str,
    token: SignupTokenHeader<'_>,
) -> Result<Json<Resent>> {
    let account_id = AccountId::parse(account_id).ok_or(Error::AccountNotFound)?;
    confirmation::resend_mail(platform, &account_id, token.0).await.map(Json)
}

refusals!(ResendCodeRefusals: [Limited<Mails>, Body, Platform] InvalidEmail, CodeTooSoon { retry_after: 60 },
    TooManyCodes { retry_after: 3600 }, missing_field("email"));

/// Mail a fresh code to whoever lost the signup token
///
/// The same answer for every address: nobody learns who has an account. Once a minute and five
/// times a UTC day.
#[utoipa::path(
    tag = "Accounts",
    request_body = CodeRequest,
    responses((status = 200, description = "Sent, should the address have an account", body = CodeSent), ResendCodeRefusals),
)]
#[post("/v1/signup/resend-code", data = "<body>")]
async fn resend_code(
    platform: &State<Platform>,
    _limited: Limited<Mails>,
    body: Body,
) -> Result<Json<CodeSent>> {
    let request = body.validated::<CodeRequest>()?;
    let email = Email::required(request.email.as_deref())?;
    code_requests::request_code(platform, email).await.map(Json)
}

refusals!(RenewTokenRefusals: [Limited<Codes>, Body, Platform] InvalidEmail, InvalidCode,
    TooManyAttempts { retry_after: 60 }, missing_field("code"));

/// Get a new signup token for a mailed code
///
/// The old token ends.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "renew_signup_token",
    params(("account_id" = AccountId, Path)),
    request_body = RenewalRequest,
    responses((status = 200, description = "The token", body = RenewedToken), RenewTokenRefusals),
)]
#[post("/v1/accounts/<account_id>/signup-token", data = "<body>")]
async fn renew_token(
    platform: &State<Platform>,
    _limited: Limited<Codes>,
    account_id: &str,
    body: Body,
) -> Result<Json<RenewedToken>> {
    let request = body.validated::<RenewalRequest>()?;
    token_renewal::renew_signup_token(platform, account_id, &request).await.map(Json)
}

refusals!(ActivateRefusals: [ActivatingKey, Platform] AccountNotFound, CustomerNotInGoodStanding);

/// Make an account active
///
/// For unlimited keys. The plan stays.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "activate_account",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The account is active", body = Activated), ActivateRefusals),
)]
#[post("/v1/accounts/<account_id>/activate")]
async fn activate(
    platform: &State<Platform>,
    _caller: ActivatingKey,
    account_id: &str,
) -> Result<Json<Activated>> {
    let account_id = AccountId::parse(account_id).ok_or(Error::AccountNotFound)?;
    activation::activate(platform, &account_id).await.map(Json)
}

refusals!(IssueKeyRefusals: [Limited<KeyIssues>, SignupTokenHeader<'_>, AnyKey, Platform] AccountIdRequired,
    ApiKeyOrSignupTokenRequired, AccountNotActive, ConfirmEmailFirst);

/// Issue an API key
///
/// With a signup token for the first key, with a key for another one.
#[utoipa::path(
    tag = "Accounts",
    security(("signup_token" = []), ("api_key" = []), ("x_api_key" = [])),
    params(("account_id" = Option<AccountId>, Query, description = "Required with a signup token.")),
    responses((status = 201, description = "The key, shown this once", body = IssuedKey), IssueKeyRefusals),
)]
#[post("/v1/api-keys")]
async fn issue_key(
    platform: &State<Platform>,
    _limited: Limited<KeyIssues>,
    attempts: KeyAttempts<'_>,
    query: Query,
    token: SignupTokenHeader<'_>,
    key: PresentedKey<'_>,
) -> Result<Custom<Json<IssuedKey>>> {
    let issued = match token.0 {
        Some(token) => {
            key_issuing::issue_with_token(platform, query.present("account_id"), token).await?
        }
        None if key.key.is_some() || key.authorization_sent => {
            key_issuing::issue_with_key(platform, &attempts, key.key).await?
        }
        None => return Err(Error::ApiKeyOrSignupTokenRequired),
    };
    Ok(Custom(Status::Created, Json(issued)))
}
