use rocket::{State, get};
use rocket_dyn_templates::context;

use super::layout::page;
use crate::app::App;
use crate::error::Result;
use crate::http::described::described_routes;
use crate::http::html::Page;
use crate::http::problem::Problem;
use crate::infra::templates::{Message, tr};
use crate::silence::badge::{PublicVerdict, find_public};
use crate::silence::view::SiteVerdict;

described_routes![watch_page];

/// Whether a site is silent
///
/// The last verdict of the service, its date, and the hosts that are not counted, if the site's owner has published it.
#[utoipa::path(
    tag = "Pages",
    operation_id = "watch_page",
    params(("pixel_id" = String, Path)),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 404, description = "Not Found: there is no such page, or its owner does not publish it",
            content((Problem = "application/problem+json"), (String = "text/html"))),
    ),
)]
#[get("/watch/<pixel_id>")]
async fn watch_page(app: &State<App>, pixel_id: &str) -> Result<Page> {
    let PublicVerdict { domain, last, allowed } = find_public(&app.infra.pool, pixel_id).await?;
    let host = domain.as_str();
    let day = last.map(|(_, at)| Message::DayOf(at));
    let (tone, verdict) = match last {
        Some((SiteVerdict::Silent, _)) => {
            ("ok", tr("{{ host }} loaded and stored nothing without consent."))
        }
        Some((SiteVerdict::Leaks, _)) => {
            ("problem", tr("{{ host }} loaded or stored something without consent."))
        }
        Some((SiteVerdict::NotObserved, _)) => ("calm", tr("{{ host }} could not be observed.")),
        None => ("calm", tr("{{ host }} has not been visited yet.")),
    };
    let allowed = allowed.join(", ");
    let content = context! { host, tone, verdict: verdict.with("host", host), day, allowed };
    let title = tr("Watch of {{ host }}").with("host", host);
    Ok(Page::ok(page(app.infra.base_url(), "pages/watch.html", title, content)).public())
}
