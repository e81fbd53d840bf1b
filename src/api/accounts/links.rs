//! HTTP routes of the links in confirmation mails, which people open in a browser. They share only the
//! refusals of the capabilities `ConfirmByLink` and `DisownAccount`, and do not call them: a HEAD request
//! must have no effect, and the pages need the whole account. A limit that is added to one of these
//! capabilities must be added here too.

use std::collections::BTreeMap;

use rocket::{State, get, post};
use rocket_dyn_templates::context;
use utoipa::openapi::{RefOr, Response};
use utoipa::{IntoResponses, ToSchema};

use crate::accounts::capability::Capability;
use crate::accounts::introduction::Introduction;
use crate::accounts::signup::confirmation::ConfirmByLink;
use crate::accounts::signup::signup_rejection::{self, DisownAccount, RejectableSignup};
use crate::accounts::signup::{confirmation, link_token};
use crate::app::App;
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::described::described_routes;
use crate::http::headers::IsHead;
use crate::http::html::{Page, Template, WantsHtml};
use crate::http::query::Query;
use crate::http::refusals::{self, Refuses};
use crate::infra::Infra;
use crate::infra::templates::tr;

described_routes![verify, ask_whether_to_disown, reject_signup];

fn refusals_of_links(own: impl IntoIterator<Item = Error>) -> BTreeMap<String, RefOr<Response>> {
    let mut errors = Infra::refusals();
    errors.extend(own);
    refusals::responses_or_pages(&errors)
}

enum VerifyRefusals {}

impl IntoResponses for VerifyRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refusals_of_links(ConfirmByLink::refusals())
    }
}

/// The link of the confirmation mail
///
/// For a browser: whoever accepts `text/html` reads its refusals as pages. A second use says the
/// same again.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "confirm_by_link",
    params(("token" = String, Query, pattern = "\\S", description = "As mailed.")),
    responses((status = 200, description = "Email confirmed", content_type = "text/html", body = String), VerifyRefusals),
)]
#[get("/v1/email/verify")]
async fn verify(app: &State<App>, query: Query, head: IsHead) -> Result<Page> {
    let token = link_token::required(query.get("token"))?;
    let account = match head.0 {
        true => confirmation::find_link_account(&app.infra.pool, &app.infra.clock, token).await?,
        false => confirmation::confirm_by_link(&app.infra.pool, &app.infra.clock, token).await?,
    };
    Ok(confirmed_page(&Introduction::from(&account), token))
}

enum LinkPageRefusals {}

impl IntoResponses for LinkPageRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refusals_of_links([Error::VerificationTokenRequired, Error::DisownLinkNotFound])
    }
}

/// The other link of the confirmation mail: "This was not me"
///
/// A page with a button. Opening it has no effect.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "ask_whether_to_disown",
    params(("token" = String, Query, pattern = "\\S", description = "As mailed.")),
    responses((status = 200, description = "The page", content_type = "text/html", body = String), LinkPageRefusals),
)]
#[get("/v1/email/disown")]
async fn ask_whether_to_disown(app: &State<App>, query: Query) -> Result<Page> {
    let token = link_token::required(query.get("token"))?;
    Ok(disown_page(
        200,
        app.infra.base_url(),
        &signup_rejection::find_rejectable(&app.infra.pool, &app.infra.clock, token).await?,
        token,
    ))
}

enum DisownRefusals {}

impl IntoResponses for DisownRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refusals_of_links(DisownAccount::refusals().into_iter().chain(Body::<64>::refusals()))
    }
}

/// The form of the page.
#[derive(ToSchema)]
#[allow(dead_code, reason = "described only: forms are read by name")]
struct DisownForm {
    /// As mailed, in either link.
    #[schema(pattern = "\\S")]
    token: String,
}

/// Close an account that somebody else opened with one's address
///
/// For the holder of a link of a confirmation mail, as long as the account has done nothing. The
/// address can sign up anew at once.
#[utoipa::path(
    tag = "Accounts",
    operation_id = "disown_account",
    request_body(content = DisownForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Closed", content_type = "text/html", body = String), DisownRefusals),
)]
#[post("/v1/email/disown", data = "<body>")]
async fn reject_signup(app: &State<App>, html: WantsHtml, body: Body) -> Result<Page> {
    let form = body.form();
    let token = link_token::required(form.get("token").map(String::as_str))?;
    match signup_rejection::reject_signup(&app.infra.pool, &app.infra.clock, token).await {
        Ok(closed) => Ok(closed_page(closed.account_id.as_str())),
        Err(Error::AccountInUse) if html.0 => {
            let found =
                signup_rejection::find_rejectable(&app.infra.pool, &app.infra.clock, token).await?;
            Ok(disown_page(
                409,
                app.infra.base_url(),
                &RejectableSignup { in_use: true, ..found },
                token,
            ))
        }
        Err(error) => Err(error),
    }
}

fn confirmed_page(account: &Introduction, token: &str) -> Page {
    let heading = tr("Email confirmed");
    let content = context! { base_url: "", page_title: heading, account, token };
    Page::ok(Template::render("pages/confirmed.html", content))
}

fn disown_page(status: u16, base_url: &str, found: &RejectableSignup, token: &str) -> Page {
    let heading = tr("Did you not sign up?");
    let RejectableSignup { account, in_use } = found;
    let api = base_url;
    let content = context! { base_url: "", page_title: heading, account, in_use, api, token };
    Page::with_status(status, Template::render("pages/disown.html", content))
}

fn closed_page(account_id: &str) -> Page {
    let closed = tr("Account {{ account }} is deleted, with its keys and links.");
    let next = tr(
        "Whoever opened it can do nothing with it any more. Your address is free: you can sign up with it whenever you like.",
    );
    let paragraphs = [closed.with("account", account_id), next];
    Page::message(200, "ok", tr("Account closed"), &paragraphs)
}
