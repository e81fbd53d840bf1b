//! HTTP routes of what the account's own address is mailed.

use rocket::{get, patch};

use crate::accounts::capabilities::account::{ChangeMailPreferences, ReadMailPreferences};
use crate::accounts::capability::NoInput;
use crate::accounts::mails::preferences::{MailChange, MailPreferences};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::refusals::refusals;
use crate::infra::Infra;

described_routes![read, change];

refusals!(ReadRefusals of ReadMailPreferences: [Infra]);

/// Which mails the account gets
///
/// They go to the account's own address.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "read_mail_preferences",
    security(("api_key" = []), ("x_api_key" = [])),
    responses((status = 200, description = "What is on", body = MailPreferences), ReadRefusals),
)]
#[get("/v1/account/mails")]
async fn read(call: Call<'_, ReadMailPreferences>) -> Result<Json<MailPreferences>> {
    call.with(NoInput {}).await.map(Json)
}

refusals!(ChangeRefusals of ChangeMailPreferences: [Body, Infra]);

/// Turn mails on and off
///
/// What is left out stays. The mails themselves have a link that does the same without a key.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "change_mail_preferences",
    security(("api_key" = []), ("x_api_key" = [])),
    request_body = MailChange,
    responses((status = 200, description = "What is on now", body = MailPreferences), ChangeRefusals),
)]
#[patch("/v1/account/mails", data = "<body>")]
async fn change(
    call: Call<'_, ChangeMailPreferences>,
    body: Body,
) -> Result<Json<MailPreferences>> {
    call.with_body(&body, |change: MailChange| change).await.map(Json)
}
