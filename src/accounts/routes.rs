//! HTTP routes of accounts, confirmation and keys.

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{Route, State, get, post, routes};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::account::{AccountView, Status as AccountStatus};
use super::activation::{self, Activated};
use super::code_requests::{self, CodeRequest, CodeSent};
use super::confirmation::{self, ConfirmRequest, Confirmation, Resent};
use super::credentials::{self, ApiKey, IssuedKey};
use super::email::Email;
use super::guards::{ActivatingKey, KeyRefusals, PresentedKey, SignupTokenHeader, identify};
use super::key_attempts::KeyAttempts;
use super::plans::{self, PlanList};
use super::signup::{self, OpenedAccount, SignupRequest};
use super::token_renewal::{self, RenewalRequest, RenewedToken};
use crate::error::{Error, Result};
use crate::http::body::{Body, missing_field, present};
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
    let account_id = AccountId::parse(account_id).ok_or(Error::SignupTokenRequired)?;
    let mut connection = platform.pool.acquire().await?;
    let now = platform.clock.now();
    let account =
        credentials::account_of_signup_token(&mut connection, now, &account_id, token.0).await?;
    Ok(Json(account.into()))
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
            false => confirmation::confirm_by_link(platform, token).await,
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
    let code = present(request.code.as_deref()).ok_or_else(|| missing_field("code"))?;
    let token = present(request.signup_token.as_deref());
    confirmation::confirm_by_code(platform, &account_id, code, token).await.map(Json)
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
    code_requests::request_code(platform, required_email(request.email.as_deref())?).await?;
    Ok(Json(CodeSent { sent: true }))
}

#[post("/v1/accounts/<account_id>/signup-token", data = "<body>")]
async fn renew_token(
    platform: &State<Platform>,
    _limited: Limited<Codes>,
    account_id: &str,
    body: Body,
) -> Result<Json<RenewedToken>> {
    let request = body.validated::<RenewalRequest>()?;
    let email = required_email(request.email.as_deref())?;
    let code = present(request.code.as_deref()).ok_or_else(|| missing_field("code"))?;
    let account_id = AccountId::parse(account_id).ok_or(Error::InvalidCode)?;
    token_renewal::renew_signup_token(platform, &account_id, &email, code).await.map(Json)
}

fn required_email(text: Option<&str>) -> Result<Email> {
    Email::parse(present(text).ok_or(Error::InvalidEmail)?)
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
        Some(token) => issue_with_token(platform, &query, token).await?,
        None if key.key.is_some() || key.authorization_sent => {
            issue_with_key(platform, &attempts, key.key).await?
        }
        None => return Err(Error::ApiKeyOrSignupTokenRequired),
    };
    Ok(Custom(Status::Created, Json(issued.into())))
}

async fn issue_with_token(platform: &Platform, query: &Query, token: &str) -> Result<ApiKey> {
    let account_id = query.present("account_id").ok_or(Error::AccountIdRequired)?;
    let account_id = AccountId::parse(account_id).ok_or(Error::SignupTokenRequired)?;
    let mut transaction = platform.pool.begin().await?;
    let now = platform.clock.now();
    let key =
        credentials::issue_key_for_signup(&mut transaction, now, &account_id, Some(token)).await?;
    transaction.commit().await?;
    Ok(key)
}

async fn issue_with_key(
    platform: &Platform,
    attempts: &KeyAttempts<'_>,
    key: Option<&str>,
) -> Result<ApiKey> {
    let looked_up = identify(platform, key, KeyRefusals::who_am_i());
    let caller = attempts.watch(key, looked_up).await?;
    if caller.account.status != AccountStatus::Active {
        return Err(Error::AccountNotActive);
    }
    let mut connection = platform.pool.acquire().await?;
    credentials::issue_api_key(&mut connection, platform.clock.now(), caller.account_id()).await
}
