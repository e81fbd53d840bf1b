//! HTTP routes of the link that cancels a change of an account's address; people open it in a browser.
//! They use no capability: the link itself is the credential.

use rocket::{State, get, post};
use rocket_dyn_templates::context;
use utoipa::ToSchema;

use crate::accounts::profile::address_cancelling::{self, Cancellable, Cancelled};
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

described_routes![ask_whether_to_cancel, cancel];

refusals!(PageRefusals or page: [Infra] VerificationTokenRequired, AddressLinkNotFound);
refusals!(CancelRefusals or page: [Body<64>, Infra] VerificationTokenRequired, AddressLinkNotFound);

/// The link of the mail about another address: "Cancel the change"
///
/// A page with a button. Opening it has no effect.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "ask_whether_to_cancel_address_change",
    params(("token" = String, Query, pattern = "\\S", description = "As mailed.")),
    responses((status = 200, description = "The page", content_type = "text/html", body = String), PageRefusals),
)]
#[get("/v1/email/address-change")]
async fn ask_whether_to_cancel(app: &State<App>, query: Query) -> Result<Page> {
    let token = link_token::required(query.get("token"))?;
    Ok(page(&address_cancelling::find(&app.infra.pool, &app.infra.clock, token).await?, token))
}

/// The form of the page.
#[derive(ToSchema)]
#[allow(dead_code, reason = "described only: forms are read by name")]
struct CancelForm {
    /// As mailed, in any link since the change was first asked for.
    #[schema(pattern = "\\S")]
    token: String,
    /// `yes` also ends the key, or the session, that asked for the change last.
    end_asker: Option<String>,
}

/// Cancel a change of an account's address
///
/// For the reader of the present mailbox, as long as the change waits. Keys, members and sessions that were
/// made since the change was first asked for end with it.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "cancel_address_change",
    request_body(content = CancelForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Cancelled", content_type = "text/html", body = String), CancelRefusals),
)]
#[post("/v1/email/address-change", data = "<body>")]
async fn cancel(app: &State<App>, query: Query, body: Body) -> Result<Page> {
    let form = body.form();
    let given = form.get("token").map(String::as_str).or_else(|| query.get("token"));
    let token = link_token::required(given)?;
    let end_asker = form.get("end_asker").is_some_and(|value| value == "yes");
    Ok(cancelled_page(
        &address_cancelling::cancel(&app.infra.pool, &app.infra.clock, token, end_asker).await?,
    ))
}

fn page(found: &Cancellable, token: &str) -> Page {
    let heading = tr("Keep the present address?");
    let content = context! { base_url: "", page_title: &heading, heading: &heading, found, token };
    Page::ok(Template::render("pages/address_change.html", content))
}

fn cancelled_page(ended: &Cancelled) -> Page {
    let kept = tr("The account {{ account }} keeps its address.");
    let also = tr(
        "Ended with the change: {{ keys }} key{{ keys | pluralize }}, {{ members }} member{{ members | pluralize }}, {{ sessions }} session{{ sessions | pluralize }}.",
    );
    let paragraphs = [
        kept.with("account", &ended.account.account_id),
        also.with("keys", ended.keys)
            .with("members", ended.members)
            .with("sessions", ended.sessions),
        tr("Sign in to the console to see which keys and members there are, and who did what."),
    ];
    Page::message(200, "ok", tr("The change is cancelled"), &paragraphs)
}
