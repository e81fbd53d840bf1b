use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, post};

use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::input::OfKey;
use crate::accounts::keys::key_issuing::{IssueApiKey, IssuedKey, KeyOrder, KeyRequest};
use crate::accounts::keys::{KeyList, ListApiKeys, RevokeApiKey};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::types::ids::AccountId;

described_routes![
    issue_api_key of IssueApiKey: [Body, Infra],
    list_keys of ListApiKeys: [Infra],
    revoke_key of RevokeApiKey: [Infra],
];

/// Issue an API key
///
/// With a signup token for the first key, with a key for another one. An account has at most 20 that
/// work. Keys that stem from a signup token end when it is renewed.
#[utoipa::path(
    tag = "Accounts",
    params(("account_id" = Option<AccountId>, Query, description = "Required with a signup token.")),
    request_body = Option<KeyRequest>,
    responses((status = 201, description = "The key, shown this once", body = IssuedKey)),
)]
#[post("/v1/api-keys", data = "<body>")]
async fn issue_api_key(
    call: Call<'_, IssueApiKey>,
    query: Query,
    body: Body,
) -> Result<Custom<Json<IssuedKey>>> {
    let account_id = query.get("account_id").map(str::to_owned);
    let issued = call.with(KeyOrder { account_id, request: key_request(&body) }).await?;
    Ok(Custom(Status::Created, Json(issued)))
}

/// Reads the requested terms of a key. The body has always been optional, so anything but a JSON object is ignored.
/// A malformed object is refused, because the default is a key without restrictions.
fn key_request(body: &Body) -> Result<KeyRequest> {
    match body.0.trim_ascii_start().starts_with(b"{") {
        true => body.read().map_err(|wrong| IssueApiKey::INVALID_INPUT.refusal(wrong)),
        false => Ok(KeyRequest::default()),
    }
}

/// List the account's API keys
///
/// Those that work and those that expired in the last 30 days, oldest first, without their secrets.
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "The keys", body = KeyList)),
)]
#[get("/v1/api-keys")]
async fn list_keys(call: Call<'_, ListApiKeys>) -> Result<Listed<KeyList>> {
    call.with(NoInput {}).await.map(Listed)
}

/// Revoke an API key
///
/// It ends at once; the key of the call may be revoked too.
#[utoipa::path(
    tag = "Accounts",
    params(("prefix" = String, Path, description = "The key's first 12 characters.")),
    responses((status = 204, description = "Revoked")),
)]
#[delete("/v1/api-keys/<prefix>")]
async fn revoke_key(call: Call<'_, RevokeApiKey>, prefix: &str) -> Result<NoContent> {
    call.with(OfKey { prefix: prefix.to_owned() }).await.map(|_| NoContent)
}
