use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, patch, post};

use crate::accounts::capability::NoInput;
use crate::accounts::input::{OnMember, Removal, wrong_revoke_keys};
use crate::accounts::members::inviting::{Invitation, InviteMember};
use crate::accounts::members::member_list::{
    ChangeMember, ListMembers, MemberList, RemoveMember, RoleChange,
};
use crate::accounts::members::member_view::MemberView;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;

described_routes![
    list of ListMembers: [Infra],
    invite of InviteMember: [Body, Infra],
    change of ChangeMember: [Body, Infra],
    remove of RemoveMember: [Infra],
];

/// Who may act for the account
///
/// Its own address first, then the oldest.
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "The members", body = MemberList)),
)]
#[get("/v1/account/members")]
async fn list(call: Call<'_, ListMembers>) -> Result<Listed<MemberList>> {
    call.with(NoInput {}).await.map(Listed)
}

/// Make somebody a member
///
/// The address is told by mail and signs in to the console by itself. At most five members, the
/// account's own address among them.
#[utoipa::path(
    tag = "Accounts",
    request_body = Invitation,
    responses((status = 201, description = "The member", body = MemberView)),
)]
#[post("/v1/account/members", data = "<body>")]
async fn invite(call: Call<'_, InviteMember>, body: Body) -> Result<Custom<Json<MemberView>>> {
    let member = call.with_body(&body, |invitation: Invitation| invitation).await?;
    Ok(Custom(Status::Created, Json(member)))
}

/// Give a member another role, or other sites
#[utoipa::path(
    tag = "Accounts",
    params(("member_id" = Uuid, Path)),
    request_body = RoleChange,
    responses((status = 200, description = "The member", body = MemberView)),
)]
#[patch("/v1/account/members/<member_id>", data = "<body>")]
async fn change(
    call: Call<'_, ChangeMember>,
    member_id: &str,
    body: Body,
) -> Result<Json<MemberView>> {
    let on_member = |RoleChange { role, pixels, all_pixels, code }| {
        let member_id = member_id.into();
        OnMember { member_id, role, pixels, all_pixels, code }
    };
    call.with_body(&body, on_member).await.map(Json)
}

/// Remove a member
///
/// It ends at once, and with it the member's sessions, codes and sign-ins; who is invited again begins
/// anew. Keys that the member made go on unless `revoke_keys` is `true`, which also ends those that were
/// made with them.
#[utoipa::path(
    tag = "Accounts",
    params(
        ("member_id" = Uuid, Path),
        ("revoke_keys" = Option<bool>, Query, description = "Whether the member's keys end; `false` when left out."),
    ),
    responses((status = 204, description = "Removed")),
)]
#[delete("/v1/account/members/<member_id>")]
async fn remove(call: Call<'_, RemoveMember>, member_id: &str, query: Query) -> Result<NoContent> {
    let revoke_keys = match query.present("revoke_keys") {
        None => None,
        Some(text) => Some(text.parse::<bool>().map_err(|_| wrong_revoke_keys())?),
    };
    let removal = Removal { member_id: member_id.into(), revoke_keys };
    call.with(removal).await.map(|_| NoContent)
}
