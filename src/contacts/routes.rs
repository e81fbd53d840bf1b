//! HTTP routes of contacts.

use futures_util::stream::BoxStream;
use rocket::http::{ContentType, Status};
use rocket::response::stream::ByteStream;
use rocket::{Route, State, delete, get, post, routes};

use super::contact::Hem;
use super::erasure;
use super::intake::{self, ContactsRequest, Stored};
use super::reading::{self, Selection};
use super::turns::Turns;
use crate::accounts::guards::GoodStanding;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::pixels::routes::OfferedMethod;
use crate::platform::Platform;

/// At most 2 MiB.
type ContactsBody = Body<2048>;

pub fn routes() -> Vec<Route> {
    routes![read, store, erase]
}

/// JSON that is sent while it is made.
type JsonStream = (ContentType, ByteStream<BoxStream<'static, Vec<u8>>>);

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
