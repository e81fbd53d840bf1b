use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, post, put};

use crate::contacts::suppressions::entry::ImportStatus;
use crate::contacts::suppressions::import::{
    ImportSuppressions, OfImport, OpenedImport, ShowSuppressionImport,
};
use crate::contacts::suppressions::list::{ListSuppressions, PageRequest, SuppressionPage};
use crate::contacts::suppressions::suppress::{OfPerson, SuppressPerson, UnsuppressPerson};
use crate::error::Result;
use crate::http::body::upload::Upload;
use crate::http::call::{Call, CallOrRefusal};
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::http::problem::allowed_methods::unless_fixed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::types::hem::Hem;

/// At most 16 MiB.
type ListBody<'r> = Upload<'r, { 16 * 1024 }>;

described_routes![
    suppress of SuppressPerson: [Infra],
    unsuppress of UnsuppressPerson: [Infra],
    list of ListSuppressions: [Infra],
    import of ImportSuppressions: [ListBody<'_>, Infra],
    show_import of ShowSuppressionImport: [Infra],
];

/// Never store a person again
///
/// The person is erased on all pixels of the account first. Suppressed already is fine too.
#[utoipa::path(
    tag = "Contacts",
    params(("hem" = Hem, Path)),
    responses((status = 204, description = "Nothing is stored of the person, nor will be")),
)]
#[put("/v1/suppressions/<hem>")]
async fn suppress(call: Call<'_, SuppressPerson>, hem: &str) -> Result<NoContent> {
    unless_fixed(hem, "import")?;
    call.with(OfPerson { hem: hem.into() }).await.map(|_| NoContent)
}

/// Let a person be stored again
///
/// Also 204 when the person was not suppressed.
#[utoipa::path(
    tag = "Contacts",
    params(("hem" = Hem, Path)),
    responses((status = 204, description = "The person may be stored")),
)]
#[delete("/v1/suppressions/<hem>")]
async fn unsuppress(call: Call<'_, UnsuppressPerson>, hem: &str) -> Result<NoContent> {
    unless_fixed(hem, "import")?;
    call.with(OfPerson { hem: hem.into() }).await.map(|_| NoContent)
}

/// Who is never stored
///
/// In the order of `hem`; follow `next_after` until it is null.
#[utoipa::path(
    tag = "Contacts",
    params(
        ("after" = Option<Hem>, Query, description = "The `next_after` of the page before."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 1000, description = "Suppressions of one page; 1,000 when left out."),
    ),
    responses((status = 200, description = "A page of them", body = SuppressionPage)),
)]
#[get("/v1/suppressions")]
async fn list(call: Call<'_, ListSuppressions>, query: Query) -> Result<Listed<SuppressionPage>> {
    let text = |name| query.get(name).map(str::to_owned);
    call.with(PageRequest { after: text("after"), limit: text("limit") }).await.map(Listed)
}

/// Suppress everybody on a list
///
/// CSV with SHA-256 digests of email addresses, in hex or base64, such as California's deletion list
/// has them: every cell that is one counts, others are skipped. At most 16 MiB. The list is stored
/// when the answer comes, and applied within moments.
#[utoipa::path(
    tag = "Contacts",
    request_body(content = String, content_type = "text/csv"),
    responses((status = 202, description = "The list is taken", body = OpenedImport)),
)]
#[post("/v1/suppressions/import", data = "<body>")]
async fn import(
    call: CallOrRefusal<'_, ImportSuppressions>,
    body: ListBody<'_>,
) -> Result<Custom<Json<OpenedImport>>> {
    let opened = body.pass_to(|list| async { call.0?.with(list).await }).await?;
    Ok(Custom(Status::Accepted, Json(opened)))
}

/// How far an import has come
#[utoipa::path(
    tag = "Contacts",
    params(("import_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "Counts of what has been applied", body = ImportStatus)),
)]
#[get("/v1/suppressions/imports/<import_id>")]
async fn show_import(
    call: Call<'_, ShowSuppressionImport>,
    import_id: &str,
) -> Result<Json<ImportStatus>> {
    call.with(OfImport { import_id: import_id.into() }).await.map(Json)
}
