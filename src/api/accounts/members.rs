//! HTTP routes of an account's members.

use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, patch, post};

use crate::accounts::capabilities::members::*;
use crate::accounts::capability::NoInput;
use crate::accounts::members::member_list::{Invitation, MemberList, MemberView, RoleChange};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;

described_routes![list, invite, change, remove];

refusals!(ListRefusals of ListMembers: [Infra]);

/// Who may act for the account
///
/// Its own address first, then the oldest.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "list_members",
    security(("api_key" = []), ("x_api_key" = [])),
    responses((status = 200, description = "The members", body = MemberList), ListRefusals),
)]
#[get("/v1/account/members")]
async fn list(call: Call<'_, ListMembers>) -> Result<Json<MemberList>> {
    call.with(NoInput {}).await.map(Json)
}

refusals!(InviteRefusals of InviteMember: [Body, Infra]);

/// Make somebody a member
///
/// The address is told by mail and signs in to the console by itself. At most five members, the
/// account's own address among them.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "invite_member",
    security(("api_key" = []), ("x_api_key" = [])),
    request_body = Invitation,
    responses((status = 201, description = "The member", body = MemberView), InviteRefusals),
)]
#[post("/v1/account/members", data = "<body>")]
async fn invite(call: Call<'_, InviteMember>, body: Body) -> Result<Custom<Json<MemberView>>> {
    let member = call.with_body(&body, |invitation: Invitation| invitation).await?;
    Ok(Custom(Status::Created, Json(member)))
}

refusals!(ChangeRefusals of ChangeMember: [Body, Infra]);

/// Give a member another role
#[utoipa::path(
    tag = "Accounts",
    operation_id = "change_member",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("member_id" = Uuid, Path)),
    request_body = RoleChange,
    responses((status = 200, description = "The member", body = MemberView), ChangeRefusals),
)]
#[patch("/v1/account/members/<member_id>", data = "<body>")]
async fn change(
    call: Call<'_, ChangeMember>,
    member_id: &str,
    body: Body,
) -> Result<Json<MemberView>> {
    let on_member = |RoleChange { role, code }| {
        let member_id = member_id.to_owned();
        OnMember { member_id, role, code }
    };
    call.with_body(&body, on_member).await.map(Json)
}

refusals!(RemoveRefusals of RemoveMember: [Infra]);

/// Remove a member
///
/// It ends at once, and with it the member's sessions, codes and sign-ins; who is invited again begins
/// anew. Keys that the member made go on unless `revoke_keys` is `true`, which also ends those that were
/// made with them.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "remove_member",
    security(("api_key" = []), ("x_api_key" = [])),
    params(
        ("member_id" = Uuid, Path),
        ("revoke_keys" = Option<bool>, Query, description = "Whether the member's keys end; `false` when left out."),
    ),
    responses((status = 204, description = "Removed"), RemoveRefusals),
)]
#[delete("/v1/account/members/<member_id>")]
async fn remove(call: Call<'_, RemoveMember>, member_id: &str, query: Query) -> Result<NoContent> {
    let revoke_keys = match query.present("revoke_keys") {
        None => None,
        Some(text) => Some(text.parse::<bool>().map_err(|_| wrong_revoke_keys())?),
    };
    let removal = Removal { member_id: member_id.to_owned(), revoke_keys };
    call.with(removal).await.map(|_| NoContent)
}
