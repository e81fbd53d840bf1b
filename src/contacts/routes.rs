//! HTTP routes of contacts.

use futures_util::stream::BoxStream;
use rocket::http::{ContentType, Status};
use rocket::response::stream::ByteStream;
use rocket::{State, delete, get, post};

use super::contact::Hem;
use super::erasure;
use super::intake::{self, ContactsRequest, Stored};
use super::reading::{self, Contacts, Selection};
use super::turns::Turns;
use crate::accounts::guards::GoodStanding;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::ids::PixelId;
use crate::pixels::routes::{MethodQuery, OfferedMethod};
use crate::platform::Platform;

/// At most 2 MiB.
type ContactsBody = Body<2048>;

described_routes![read, store, erase];

/// JSON that is sent while it is made.
type JsonStream = (ContentType, ByteStream<BoxStream<'static, Vec<u8>>>);

refusals!(ReadRefusals: [GoodStanding, OfferedMethod, Platform] OnOrAfterMissing, OnAndAfter, OnMalformed,
    AfterMalformed, PixelNotFound);

/// Read contacts, by cursor or by day
///
/// Exactly one of `after` and `on`. A reader who follows `high_water` misses nobody.
#[utoipa::path(
    tag = "Contacts",
    operation_id = "read_contacts",
    security(("api_key" = []), ("x_api_key" = [])),
    params(
        ("pixel_id" = PixelId, Path),
        ("after" = Option<i64>, Query, minimum = 0, description = "Contacts with a greater id, at most 1,000 of them."),
        ("on" = Option<chrono::NaiveDate>, Query, description = "Contacts first seen on this UTC day, all of them."),
        MethodQuery,
    ),
    responses((status = 200, description = "The contacts", body = Contacts), ReadRefusals),
)]
#[get("/v1/pixels/<pixel_id>/contacts")]
async fn read(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    query: Query,
) -> Result<JsonStream> {
    let selection = Selection::parse(query.present("on"), query.present("after"))?;
    let pieces = reading::read(platform, &caller.0, pixel_id, selection).await?;
    Ok((ContentType::JSON, ByteStream(Box::pin(pieces))))
}

refusals!(StoreRefusals: [GoodStanding, OfferedMethod, ContactsBody, Platform] InvalidRequest, ContactEntryNotObject,
    ContactNotObject, HemMalformed, SeenAtMalformed, SubscriptionRequired { remaining: 0 },
    ContactAllowanceReached { remaining: 12 }, PixelNotFound, Busy { retry_after: 1 });

/// Store resolved people
///
/// All of them, or on an error none. New ones count against the allowance of the pixel's owner.
#[utoipa::path(
    tag = "Contacts",
    operation_id = "store_contacts",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = ContactsRequest,
    responses((status = 200, description = "How many were written", body = Stored), StoreRefusals),
)]
#[post("/v1/pixels/<pixel_id>/contacts", data = "<body>")]
async fn store(
    platform: &State<Platform>,
    turns: &State<Turns>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    body: ContactsBody,
) -> Result<Json<Stored>> {
    let people = body.json::<ContactsRequest>()?.check(platform.clock.now())?;
    intake::store_contacts(platform, turns, &caller.0, pixel_id, people).await.map(Json)
}

refusals!(EraseRefusals: [GoodStanding, OfferedMethod, Platform] HemMalformed, PixelNotFound);

/// Delete a person
///
/// Also 204 when there is none.
#[utoipa::path(
    tag = "Contacts",
    operation_id = "erase_contact",
    security(("api_key" = []), ("x_api_key" = [])),
    params(("pixel_id" = PixelId, Path), ("hem" = Hem, Path), MethodQuery),
    responses((status = 204, description = "Nothing is stored of the person"), EraseRefusals),
)]
#[delete("/v1/pixels/<pixel_id>/contacts/<hem>")]
async fn erase(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
    pixel_id: &str,
    hem: &str,
) -> Result<Status> {
    erasure::erase(platform, &caller.0, pixel_id, &Hem::parse(hem)?).await?;
    Ok(Status::NoContent)
}
