pub mod account;
pub mod account_deletion;
pub mod account_mails;
pub mod address_change;
pub mod grants;
pub mod keys;
pub mod links;
pub mod members;
pub mod unsubscribe;

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{get, post};

use crate::accounts::capability::NoInput;
use crate::accounts::input::{OfAccount, OnAccount};
use crate::accounts::plans::{ListPlans, PlanList};
use crate::accounts::signup::account_view::{AccountView, ShowAccount};
use crate::accounts::signup::activation::{ActivateAccount, Activated};
use crate::accounts::signup::code_requests::{CodeRequest, CodeSent, ResendCode};
use crate::accounts::signup::confirmation::{ConfirmByCode, ConfirmRequest, Confirmation};
use crate::accounts::signup::resending::{ResendConfirmation, Resent};
use crate::accounts::signup::signup_request::SignupRequest;
use crate::accounts::signup::token_renewal::{RenewSignupToken, RenewalRequest, RenewedToken};
use crate::accounts::signup::{CreateAccount, OpenedAccount};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::infra::Infra;
use crate::types::ids::AccountId;

described_routes![
    list_plans,
    open of CreateAccount: [Body, Infra],
    show of ShowAccount: [Infra],
    confirm of ConfirmByCode: [Body, Infra],
    resend_mail of ResendConfirmation: [Infra],
    resend_code of ResendCode: [Body, Infra],
    renew_token of RenewSignupToken: [Body, Infra],
    activate of ActivateAccount: [Infra],
];

/// The plans that there are
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "All plans", body = PlanList)),
)]
#[get("/v1/plans")]
async fn list_plans(call: Call<'_, ListPlans>) -> Result<Listed<PlanList>> {
    call.with(NoInput {}).await.map(Listed)
}

/// Open an account
///
/// Starts a trial of 30 days and mails a link and a code to the address. With an operator's
/// unlimited key, in `Authorization` or `X-API-Key`, no mail is sent, and the answer brings an API
/// key at once; an `external_user_id` that another account only claims is taken from it.
#[utoipa::path(
    tag = "Accounts",
    request_body = SignupRequest,
    responses((status = 201, description = "The account", body = OpenedAccount)),
)]
#[post("/v1/accounts", data = "<body>")]
async fn open(call: Call<'_, CreateAccount>, body: Body) -> Result<Custom<Json<OpenedAccount>>> {
    let opened = call.with_body(&body, |request: SignupRequest| request).await?;
    Ok(Custom(Status::Created, Json(opened)))
}

/// An account, as its signup token may see it
///
/// To be asked again until `email_verified` is true and, after checkout, `status` is `active`.
#[utoipa::path(
    tag = "Accounts",
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The account", body = AccountView)),
)]
#[get("/v1/accounts/<account_id>")]
async fn show(call: Call<'_, ShowAccount>, account_id: &str) -> Result<Json<AccountView>> {
    call.with(OfAccount { account_id: account_id.into() }).await.map(Json)
}

/// Confirm the address by the code of the mail
#[utoipa::path(
    tag = "Accounts",
    params(("account_id" = AccountId, Path)),
    request_body = ConfirmRequest,
    responses((status = 200, description = "Confirmed, now or before", body = Confirmation)),
)]
#[post("/v1/accounts/<account_id>/confirm", data = "<body>")]
async fn confirm(
    call: Call<'_, ConfirmByCode>,
    account_id: &str,
    body: Body,
) -> Result<Json<Confirmation>> {
    let on_account = |input: ConfirmRequest| OnAccount { account_id: account_id.into(), input };
    call.with_body(&body, on_account).await.map(Json)
}

/// Mail another link and code
///
/// At most once a minute.
#[utoipa::path(
    tag = "Accounts",
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "Sent, or not needed", body = Resent)),
)]
#[post("/v1/accounts/<account_id>/verification-email")]
async fn resend_mail(call: Call<'_, ResendConfirmation>, account_id: &str) -> Result<Json<Resent>> {
    call.with(OfAccount { account_id: account_id.into() }).await.map(Json)
}

/// Mail a fresh code to whoever lost the signup token
///
/// The same answer for every address: nobody learns who has an account. Once a minute and five
/// times a UTC day.
#[utoipa::path(
    tag = "Accounts",
    request_body = CodeRequest,
    responses((status = 200, description = "Sent, should the address have an account", body = CodeSent)),
)]
#[post("/v1/signup/resend-code", data = "<body>")]
async fn resend_code(call: Call<'_, ResendCode>, body: Body) -> Result<Json<CodeSent>> {
    call.with_body(&body, |request: CodeRequest| request).await.map(Json)
}

/// Get a new signup token for a mailed code
///
/// The old token ends, and with it every key that stems from it: that was issued with it, or with such
/// a key.
#[utoipa::path(
    tag = "Accounts",
    params(("account_id" = AccountId, Path)),
    request_body = RenewalRequest,
    responses((status = 200, description = "The token", body = RenewedToken)),
)]
#[post("/v1/accounts/<account_id>/signup-token", data = "<body>")]
async fn renew_token(
    call: Call<'_, RenewSignupToken>,
    account_id: &str,
    body: Body,
) -> Result<Json<RenewedToken>> {
    let on_account = |input: RenewalRequest| OnAccount { account_id: account_id.into(), input };
    call.with_body(&body, on_account).await.map(Json)
}

/// Make an account active
///
/// For unlimited keys. The plan stays.
#[utoipa::path(
    tag = "Accounts",
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The account is active", body = Activated)),
)]
#[post("/v1/accounts/<account_id>/activate")]
async fn activate(call: Call<'_, ActivateAccount>, account_id: &str) -> Result<Json<Activated>> {
    call.with(OfAccount { account_id: account_id.into() }).await.map(Json)
}
