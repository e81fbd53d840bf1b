//! The overview of a site, opened by a link that was shared.

use rocket::request::{FromRequest, Outcome};
use rocket::{Request, State, get};
use serde::Serialize;

use super::console::sites::overview::{OverviewPage, StatsReader, read_overview};
use super::layout::page;
use crate::app::App;
use crate::error::Result;
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::http::limited::count;
use crate::http::problem;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::templates::{Message, tr};
use crate::pixels::pixel::DayZone;
use crate::receipts::daily_counts::stats::{Stats, StatsRequest, count_shared};
use crate::sharing::opening::open;
use crate::types::ids::PixelId;

described_routes![shared_overview];

refusals!(SharedRefusals or page: [Infra] TooManyRequests { retry_after: 1 });

struct Counted;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Counted {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, count(request, Limit::SharedPages).map(|()| Self))
    }
}

struct Reader<'a> {
    infra: &'a Infra,
    pixel_id: &'a PixelId,
    zone: DayZone,
}

impl StatsReader for Reader<'_> {
    fn infra(&self) -> &Infra {
        self.infra
    }

    fn zone(&self) -> DayZone {
        self.zone
    }

    async fn read(&self, request: StatsRequest) -> Result<Stats> {
        count_shared(&self.infra.read_pool, &self.infra.clock, self.pixel_id, self.zone, &request)
            .await
    }
}

#[derive(Serialize)]
struct Content {
    /// Makes the template leave out links that only members can open.
    shared: bool,
    host: String,
    expires: Message,
    #[serde(flatten)]
    overview: OverviewPage,
}

/// The overview of a site, by a shared link
///
/// Numbers only. An unknown, expired or revoked link is 404, always with the same page.
#[utoipa::path(
    tag = "Pages",
    operation_id = "shared_overview",
    params(("token" = String, Path)),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 404, description = "Not Found: the link does not work", content_type = "text/html", body = String),
        SharedRefusals,
    ),
)]
#[get("/shared/<token>")]
async fn shared_overview(
    app: &State<App>,
    _counted: Counted,
    token: &str,
    query: Query,
) -> Result<Page> {
    let infra = &app.infra;
    let Some(site) = open(&infra.pool, &infra.clock, token).await? else { return Ok(ended()) };
    let reader = Reader { infra, pixel_id: &site.pixel_id, zone: site.day_zone() };
    let overview = read_overview(&reader, &site.pixel_id.clone().into(), &query).await?;
    let (status, host) = (overview.status, site.domain.to_string());
    let title = tr("Overview of {{ host }}").with("host", &host);
    let expires = Message::DayOf(site.expires_at);
    let content = Content { shared: true, host, expires, overview };
    let shown = page(infra.base_url(), "pages/shared.html", title, content);
    Ok(Page::with_status(status, shown))
}

fn ended() -> Page {
    let explained = tr(
        "It has expired, it was revoked, or a part of it is missing. Ask the person who shared it for another one.",
    );
    Page::message(404, "calm", tr("This link does not work"), &[explained])
}
