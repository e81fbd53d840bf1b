use rocket::http::ContentType;
use rocket::response::status::NoContent;
use rocket::response::stream::ByteStream;
use rocket::{delete, get};

use crate::account_deletion::deletion::{DeleteAccount, DeletionRequest};
use crate::account_deletion::export::ExportAccount;
use crate::accounts::capability::NoInput;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::infra::Infra;
use crate::receipts::export::Lines;

described_routes![
    export of ExportAccount: [Infra],
    remove of DeleteAccount: [Body, Infra],
];

/// All that is stored for the account
///
/// One JSON document per line: `record` says what it is, `pixel_id` of which pixel, `data` is the thing
/// itself. The last line is `end`; one of `error` says that the export broke off.
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "The lines", content_type = "application/x-ndjson", body = String)),
)]
#[get("/v1/account/export")]
async fn export(call: Call<'_, ExportAccount>) -> Result<(ContentType, ByteStream<Lines>)> {
    let lines = call.with(NoInput {}).await?;
    Ok((ContentType::new("application", "x-ndjson"), ByteStream(lines)))
}

/// Delete the account
///
/// Ends the subscription at the payment provider, then erases everything: pixels, contacts, policies,
/// receipts, keys, members. Cannot be undone; export first. When the provider does not end the
/// subscription (502), nothing is deleted: try again with another code.
#[utoipa::path(
    tag = "Accounts",
    request_body = DeletionRequest,
    responses((status = 204, description = "Nothing is left")),
)]
#[delete("/v1/account", data = "<body>")]
async fn remove(call: Call<'_, DeleteAccount>, body: Body) -> Result<NoContent> {
    call.with_body(&body, |request: DeletionRequest| request).await.map(|_| NoContent)
}
