//! HTTP routes of accounts, confirmation and keys.

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{Route, State, get, post, routes};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::account::{self, AccountView};
use super::activation::{self, Activated};
use super::code_requests::{self, CodeRequest, CodeSent};
use super::confirmation::{self, ConfirmRequest, Confirmation, Resent};
use super::email::Email;
use super::guards::{ActivatingKey, PresentedKey, SignupTokenHeader};
use super::key_attempts::KeyAttempts;
use super::key_issuing::{self, IssuedKey};
use super::plans::{self, PlanList};
use super::signup::{self, OpenedAccount, SignupRequest};
use super::token_renewal::{self, RenewalRequest, RenewedToken};
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::headers::IsHead;
use crate::http::html::{Page, WantsHtml};
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::rate_limit::{Client, Codes, KeyIssues, Limited, Mails, Signups};
use crate::ids::AccountId;
use crate::platform::{Platform, postgres};

pub fn routes() -> Vec<Route> {
    routes![
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
        issue_key,
    ]
}

/// The service and its database answer.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Health {
    /// Always true.
    pub ok: bool,
}

#[get("/healthz")]
async fn healthz(platform: &State<Platform>) -> Result<Json<Health>> {
    match postgres::is_alive(&platform.pool).await {
        true => Ok(Json(Health { ok: true })),
        false => Err(Error::DatabaseUnavailable),
    }
}

#[get("/v1/plans")]
fn list_plans() -> Json<PlanList> {
    Json(plans::offered())
}

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

#[get("/v1/accounts/<account_id>")]
async fn show(
    platform: &State<Platform>,
    account_id: &str,
    token: SignupTokenHeader<'_>,
) -> Result<Json<AccountView>> {
    account::show(platform, account_id, token.0).await.map(Json)
}

/// People open this link in a browser, so its errors are pages for whoever asks for pages.
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

/// The same answer for every address: nobody learns who has an account.
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

#[post("/v1/accounts/<account_id>/activate")]
async fn activate(
    platform: &State<Platform>,
    _caller: ActivatingKey,
    account_id: &str,
) -> Result<Json<Activated>> {
    let account_id = AccountId::parse(account_id).ok_or(Error::AccountNotFound)?;
    activation::activate(platform, &account_id).await.map(Json)
}

/// With a signup token for the first key, with a key for another one.
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
