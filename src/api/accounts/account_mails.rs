use rocket::{get, patch};

use crate::accounts::capability::NoInput;
use crate::accounts::mails::preferences::{
    ChangeMailPreferences, MailChange, MailPreferences, ReadMailPreferences,
};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::infra::Infra;

described_routes![
    read of ReadMailPreferences: [Infra],
    change of ChangeMailPreferences: [Body, Infra],
];

/// Which mails the account gets
///
/// They go to the account's own address.
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "What is on", body = MailPreferences)),
)]
#[get("/v1/account/mails")]
async fn read(call: Call<'_, ReadMailPreferences>) -> Result<Json<MailPreferences>> {
    call.with(NoInput {}).await.map(Json)
}

/// Turn mails on and off
///
/// What is left out stays. The mails themselves have a link that does the same without a key.
#[utoipa::path(
    tag = "Accounts",
    request_body = MailChange,
    responses((status = 200, description = "What is on now", body = MailPreferences)),
)]
#[patch("/v1/account/mails", data = "<body>")]
async fn change(
    call: Call<'_, ChangeMailPreferences>,
    body: Body,
) -> Result<Json<MailPreferences>> {
    call.with_body(&body, |change: MailChange| change).await.map(Json)
}
