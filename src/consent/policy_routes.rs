//! HTTP routes of the notice that visitors read.

use rocket::http::Header;
use rocket::response::{self, Responder};
use rocket::{Request, Response, State, get};

use super::configuration::policy_url;
use super::directory::Directory;
use super::notice::Notice;
use super::policy::is_hash;
use super::store;
use crate::error::{Error, Result};
use crate::http::client::AcceptLanguage;
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::ids::{PixelId, PixelRef};
use crate::locales;
use crate::platform::Platform;

described_routes![policy, api_policy];

/// The notice, chosen by the reader's language.
struct PolicyPage(Page);

impl<'r> Responder<'r, 'static> for PolicyPage {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        Response::build_from(self.0.respond_to(request)?)
            .header(Header::new("Vary", "Accept-Language"))
            .ok()
    }
}

refusals!(PolicyRefusals: [Platform] PolicyNotFound);

/// A pixel's privacy notice
#[utoipa::path(
    tag = "Visitors",
    operation_id = "read_policy",
    security(()),
    params(
        ("pixel" = PixelRef, Path, description = "Canonical id or alias."),
        ("lang" = Option<String>, Query, description = "The reader's language, before `Accept-Language`."),
        ("hash" = Option<String>, Query, description = "The version that a receipt names; without it the current one."),
    ),
    responses((status = 200, description = "The notice", content_type = "text/html", body = String), PolicyRefusals),
)]
#[get("/v1/policy/<pixel>")]
async fn policy(
    platform: &State<Platform>,
    directory: &State<Directory>,
    pixel: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PolicyPage> {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let site = directory.find_text(pixel).await?;
    let current = site.as_ref().and_then(|site| site.policy_in_force());
    // A deleted pixel's policies are still found by its canonical id, for its receipts name them.
    let pixel_id = match &site {
        Some(site) => site.pixel.pixel_id.clone(),
        None => PixelId::parse(pixel).ok_or(Error::PolicyNotFound)?,
    };
    let named = match query.present("hash") {
        None => None,
        Some(hash) if !is_hash(hash) => return Err(Error::PolicyNotFound),
        Some(hash) => {
            let mut connection = platform.pool.acquire().await?;
            let named = store::find_policy_by_hash(&mut connection, &pixel_id, hash).await?;
            Some(named.ok_or(Error::PolicyNotFound)?)
        }
    };
    let policy = named.as_ref().or(current).ok_or(Error::PolicyNotFound)?;
    let url = policy_url(platform, &pixel_id);
    let is_current = current.is_some_and(|current| current.hash == policy.hash);
    let notice = Notice { pixel_id: &pixel_id, policy, is_current, locale, url: &url };
    Ok(PolicyPage(Page::ok(notice.render())))
}

/// A pixel's privacy notice, at its second address
#[utoipa::path(
    tag = "Visitors",
    operation_id = "api_read_policy",
    security(()),
    params(
        ("pixel" = PixelRef, Path, description = "Canonical id or alias."),
        ("lang" = Option<String>, Query, description = "The reader's language, before `Accept-Language`."),
        ("hash" = Option<String>, Query, description = "The version that a receipt names; without it the current one."),
    ),
    responses((status = 200, description = "The notice", content_type = "text/html", body = String), PolicyRefusals),
)]
#[get("/api/v1/policy/<pixel>")]
async fn api_policy(
    platform: &State<Platform>,
    directory: &State<Directory>,
    pixel: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PolicyPage> {
    policy(platform, directory, pixel, query, accepted).await
}
