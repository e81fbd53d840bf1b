use rocket::Either;
use rocket::response::status::NoContent;
use rocket::{delete, get, post};

use super::pixels::install_method::{MethodQuery, OfferedMethod};
use crate::contacts::contact::Contact;
use crate::contacts::counts::{ContactCounts, CountContacts, CountRequest};
use crate::contacts::intake::incoming::{ContactsRequest, StoreRequest};
use crate::contacts::intake::{StoreContacts, Stored};
use crate::contacts::reading::ContactStream;
use crate::contacts::reading::finding::{FindContact, OfContact};
use crate::contacts::reading::pages::Contacts;
use crate::contacts::reading::read_contacts::ReadContacts;
use crate::contacts::reading::selection::{ReadRequest, Selection, WithdrawnRequest};
use crate::contacts::withdrawn::{ListWithdrawnContacts, WithdrawnContacts};
use crate::erasure::contact::EraseContact;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::csv::Csv;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::{Listed, ListedText};
use crate::http::problem::allowed_methods::unless_fixed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::types::csv::Format;
use crate::types::hem::Hem;
use crate::types::ids::{PixelId, PixelParam};
use crate::types::page_address::PageAddress;

/// At most 2 MiB.
type ContactsBody = Body<2048>;

described_routes![
    read of ReadContacts: [OfferedMethod, Infra],
    count of CountContacts: [OfferedMethod, Infra],
    list_withdrawn of ListWithdrawnContacts: [OfferedMethod, Infra],
    find of FindContact: [OfferedMethod, Infra],
    store of StoreContacts: [OfferedMethod, ContactsBody, Infra],
    erase of EraseContact: [OfferedMethod, Infra],
];

/// A text that is streamed.
type ContactsText = Either<ListedText, Csv>;

/// Read contacts, by cursor or by day
///
/// Exactly one of `after`, `on` and `changed_after`. A reader who follows `high_water` misses nobody,
/// one who follows `changed_high_water` no update either. A day is sent whole; with `limit` it comes
/// in pages, each with the `next_cursor` of the one after it. Contacts whose consent has ended are
/// left out.
///
/// The next page is in the header `Link` as well, whose absence is the end; a page of more than 128 KiB
/// of JSON has it in `next` only.
#[utoipa::path(
    tag = "Contacts",
    params(
        ("pixel_id" = PixelId, Path),
        ("after" = Option<i64>, Query, minimum = 0, description = "Contacts with a greater id."),
        ("on" = Option<chrono::NaiveDate>, Query, description = "Contacts first seen on this UTC day."),
        ("changed_after" = Option<i64>, Query, minimum = 0, description = "Contacts stored or changed after this change."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 1000, description = "Contacts of one page; 1,000 with `after` or `changed_after`, all of the day with `on` when left out."),
        ("cursor" = Option<String>, Query, description = "With `on`: the `next_cursor` of the page before."),
        ("format" = inline(Option<Format>), Query, description = "JSON when left out."),
        MethodQuery,
    ),
    responses((
        status = 200,
        description = "The contacts",
        content((Contacts = "application/json"), (String = "text/csv")),
    )),
)]
#[get("/v1/pixels/<pixel_id>/contacts")]
async fn read(
    call: Call<'_, ReadContacts>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    query: Query,
    address: PageAddress,
) -> Result<ContactsText> {
    let text = |name| query.get(name).map(str::to_owned);
    let request = ReadRequest {
        pixel_id,
        on: text("on"),
        after: text("after"),
        changed_after: text("changed_after"),
        limit: text("limit"),
        cursor: text("cursor"),
        format: text("format"),
        address: Some(address),
    };
    let body = call.with(request).await?;
    Ok(match body.format {
        Format::Json => Either::Left(ListedText { pieces: body.pieces, next: body.next }),
        Format::Csv => Either::Right(table(body)),
    })
}

/// The contacts as a file.
fn table(body: ContactStream) -> Csv {
    let range = match body.selection {
        Selection::On { day, .. } => day.to_string(),
        Selection::After { id, .. } => format!("after-{id}"),
        Selection::Changed { after, .. } => format!("changed-after-{after}"),
    };
    Csv {
        name: format!("contacts-{}-{range}", body.pixel_id.as_str()),
        lines: body.pieces,
        next: body.next,
    }
}

/// Count contacts by day
///
/// By the UTC day on which people were seen first.
#[utoipa::path(
    tag = "Contacts",
    params(
        ("pixel_id" = PixelId, Path),
        ("from" = Option<chrono::NaiveDate>, Query, description = "The first UTC day; 30 days up to `to` when left out."),
        ("to" = Option<chrono::NaiveDate>, Query, description = "The last UTC day; today when left out."),
        MethodQuery,
    ),
    responses((status = 200, description = "The counts", body = ContactCounts)),
)]
#[get("/v1/pixels/<pixel_id>/contact-counts")]
async fn count(
    call: Call<'_, CountContacts>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Json<ContactCounts>> {
    let text = |name| query.get(name).map(str::to_owned);
    call.with(CountRequest { pixel_id, from: text("from"), to: text("to") }).await.map(Json)
}

/// Find a person
///
/// 404 also when the consent that the contact depends on has ended.
#[utoipa::path(
    tag = "Contacts",
    params(("pixel_id" = PixelId, Path), ("hem" = Hem, Path), MethodQuery),
    responses((status = 200, description = "The contact", body = Contact)),
)]
#[get("/v1/pixels/<pixel_id>/contacts/<hem>", rank = 2)]
async fn find(
    call: Call<'_, FindContact>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    hem: &str,
) -> Result<Json<Contact>> {
    call.with(OfContact { pixel_id, hem: hem.into() }).await.map(Json)
}

/// List contacts whose consent has ended
///
/// By this list copies elsewhere are deleted. `hem` is null once the contact is erased; a contact
/// that comes back leaves the list.
#[utoipa::path(
    tag = "Contacts",
    params(
        ("pixel_id" = PixelId, Path),
        ("after" = Option<i64>, Query, minimum = 0, description = "The `high_water` of the page before; from the start when left out."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 1000, description = "Entries of one page; 1,000 when left out."),
        MethodQuery,
    ),
    responses((status = 200, description = "The entries", body = WithdrawnContacts)),
)]
#[get("/v1/pixels/<pixel_id>/contacts/withdrawn")]
async fn list_withdrawn(
    call: Call<'_, ListWithdrawnContacts>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Listed<WithdrawnContacts>> {
    let text = |name| query.get(name).map(str::to_owned);
    let (after, limit) = (text("after"), text("limit"));
    call.with(WithdrawnRequest { pixel_id, after, limit }).await.map(Listed)
}

/// Store resolved people
///
/// All of them, or on an error none. New ones count against the allowance of the pixel's owner. Items
/// that consent does not permit are left out: `refused` says which, and why.
#[utoipa::path(
    tag = "Contacts",
    params(("pixel_id" = PixelId, Path), MethodQuery),
    request_body = ContactsRequest,
    responses((status = 200, description = "How many were written", body = Stored)),
)]
#[post("/v1/pixels/<pixel_id>/contacts", data = "<body>")]
async fn store(
    call: Call<'_, StoreContacts>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    body: ContactsBody,
) -> Result<Json<Stored>> {
    let on_pixel = |ContactsRequest { contacts }| StoreRequest { pixel_id, contacts };
    call.with_body(&body, on_pixel).await.map(Json)
}

/// Delete a person
///
/// With the choices of every visitor to whom the contact was ever bound. Also 204 when there is none.
#[utoipa::path(
    tag = "Contacts",
    params(("pixel_id" = PixelId, Path), ("hem" = Hem, Path), MethodQuery),
    responses((status = 204, description = "Nothing is stored of the person")),
)]
#[delete("/v1/pixels/<pixel_id>/contacts/<hem>")]
async fn erase(
    call: Call<'_, EraseContact>,
    _method: OfferedMethod,
    pixel_id: PixelParam,
    hem: &str,
) -> Result<NoContent> {
    unless_fixed(hem, "withdrawn")?;
    call.with(OfContact { pixel_id, hem: hem.into() }).await.map(|_| NoContent)
}
