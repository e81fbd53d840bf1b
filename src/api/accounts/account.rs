//! HTTP routes of the account of the caller's own key.

use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::{get, patch, post};

use crate::accounts::activity_log::{EventPage, EventQuery, ReadAccountEvents};
use crate::accounts::codes::account_code_order::{CodeOrder, CodeOrdered, OrderCode};
use crate::accounts::profile::{AccountChange, ChangeAccount, Profile};
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;

described_routes![
    order_code of OrderCode: [Body, Infra],
    change of ChangeAccount: [Body, Infra],
    events of ReadAccountEvents: [Infra],
];

/// Mail a code for one purpose
///
/// Six digits, valid for 15 minutes, good for this purpose alone. `sign_in` needs no key, only an
/// address, and answers the same for every address; the code works only together with `token`, in the
/// console. All others need a full key: `change_email` goes to the address that is named, the new one or
/// the present one; `delete_account` and `keys` go to the account's own.
#[utoipa::path(
    tag = "Accounts",
    request_body = CodeOrder,
    responses((status = 202, description = "On its way, if the service sends mail", body = CodeOrdered)),
)]
#[post("/v1/account/codes", data = "<body>")]
async fn order_code(call: Call<'_, OrderCode>, body: Body) -> Result<Custom<Json<CodeOrdered>>> {
    let ordered = call.with_body(&body, |order: CodeOrder| order).await?;
    Ok(Custom(Status::Accepted, Json(ordered)))
}

/// Change name or address of the account
///
/// Another address needs `code`, which was mailed to it for `change_email`, and `current_code`, which was
/// mailed to the present address; the old address is told. Without `current_code` the answer is 202: the
/// change is `pending` and takes effect after seven days, unless it is cancelled by the link that is mailed
/// to the present address.
#[utoipa::path(
    tag = "Accounts",
    request_body = AccountChange,
    responses(
        (status = 200, description = "The account", body = Profile),
        (status = 202, description = "The account; the change of its address is `pending`", body = Profile),
    ),
)]
#[patch("/v1/account", data = "<body>")]
async fn change(call: Call<'_, ChangeAccount>, body: Body) -> Result<Custom<Json<Profile>>> {
    let changed = call.with_body(&body, |change: AccountChange| change).await?;
    let status = if changed.is_pending { Status::Accepted } else { Status::Ok };
    Ok(Custom(status, Json(changed.profile)))
}

/// Who did what
///
/// Newest first, kept for 400 days; follow `next_before` until it is null.
#[utoipa::path(
    tag = "Accounts",
    params(
        ("before" = Option<String>, Query, description = "The `next_before` of the page before."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 200, description = "200 when left out."),
    ),
    responses((status = 200, description = "A page of events", body = EventPage)),
)]
#[get("/v1/account/events")]
async fn events(call: Call<'_, ReadAccountEvents>, query: Query) -> Result<Listed<EventPage>> {
    query.only(&["before", "limit"])?;
    let text = |name: &str| query.get(name).map(str::to_owned);
    call.with(EventQuery { before: text("before"), limit: text("limit") }).await.map(Listed)
}
