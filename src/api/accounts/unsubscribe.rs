//! HTTP routes of the link that turns a kind of mail off, for mail programs and for people. They use
//! no capability: the link itself is the credential. There is no rate limit per client, because mail
//! providers send the requests of all their users from a few addresses.

use rocket::{State, get, post};
use rocket_dyn_templates::context;
use utoipa::ToSchema;

use crate::accounts::mails::unsubscribing::{self, Unsubscribable};
use crate::accounts::signup::link_token;
use crate::app::App;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::html::{Page, Template};
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::infra::templates::tr;

described_routes![ask_whether_to_unsubscribe, unsubscribe];

refusals!(PageRefusals or page: [Infra] VerificationTokenRequired, MailLinkNotFound);
refusals!(UnsubscribeRefusals or page: [Body<64>, Infra] VerificationTokenRequired, MailLinkNotFound);

/// The link at the end of a mail: "Turn such mails off"
///
/// A page with a button. Opening it has no effect.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "ask_whether_to_unsubscribe",
    params(("token" = String, Query, pattern = "\\S", description = "As mailed.")),
    responses((status = 200, description = "The page", content_type = "text/html", body = String), PageRefusals),
)]
#[get("/v1/email/unsubscribe")]
async fn ask_whether_to_unsubscribe(app: &State<App>, query: Query) -> Result<Page> {
    let token = link_token::required(query.get("token"))?;
    Ok(page(&unsubscribing::find(&app.infra.pool, &app.infra.config, token).await?, token))
}

/// What mail programs send.
#[derive(ToSchema)]
#[allow(dead_code, reason = "described only: the link says it all")]
struct OneClick {
    /// `One-Click`
    #[schema(rename = "List-Unsubscribe", example = "One-Click")]
    list_unsubscribe: String,
}

/// Turn a kind of mail off
///
/// By the link of such a mail, at once and without signing in: what `List-Unsubscribe` of its head
/// names (RFC 8058). Whatever stands in the body, the link decides.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "unsubscribe",
    params(("token" = String, Query, pattern = "\\S", description = "As mailed.")),
    request_body(content = OneClick, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Turned off", content_type = "text/html", body = String), UnsubscribeRefusals),
)]
#[post("/v1/email/unsubscribe", data = "<_body>")]
async fn unsubscribe(app: &State<App>, query: Query, _body: Body) -> Result<Page> {
    let token = link_token::required(query.get("token"))?;
    Ok(page(&unsubscribing::turn_off(&app.infra, token).await?, token))
}

fn page(found: &Unsubscribable, token: &str) -> Page {
    let Unsubscribable { account, switch, is_on } = found;
    let heading = if *is_on { tr("Turn these mails off?") } else { tr("These mails are off") };
    let occasion = switch.occasion();
    let content = context! { base_url: "", page_title: &heading, heading: &heading, account, occasion, is_on, token };
    Page::ok(Template::render("pages/unsubscribe.html", content))
}
