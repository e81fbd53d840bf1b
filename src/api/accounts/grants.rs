use rocket::response::status::NoContent;
use rocket::{delete, get};

use crate::accounts::capability::NoInput;
use crate::accounts::grants::{GrantList, ListGrants, OfGrant, RevokeGrant};
use crate::error::Result;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::listed::Listed;
use crate::infra::Infra;

described_routes![
    list of ListGrants: [Infra],
    revoke of RevokeGrant: [Infra],
];

/// List the connected apps
///
/// The grants of the account, oldest first: apps that members have connected to the tool server, and what
/// each may do.
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "The grants", body = GrantList)),
)]
#[get("/v1/grants")]
async fn list(call: Call<'_, ListGrants>) -> Result<Listed<GrantList>> {
    call.with(NoInput {}).await.map(Listed)
}

/// Disconnect an app
///
/// The grant ends at once, with all of its tokens.
#[utoipa::path(
    tag = "Accounts",
    params(("grant_id" = String, Path, description = "The grant.")),
    responses((status = 204, description = "Ended")),
)]
#[delete("/v1/grants/<grant_id>")]
async fn revoke(call: Call<'_, RevokeGrant>, grant_id: &str) -> Result<NoContent> {
    call.with(OfGrant { grant_id: grant_id.to_owned() }).await.map(|()| NoContent)
}
