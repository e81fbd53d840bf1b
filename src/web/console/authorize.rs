//! The page on which a member allows or denies an app the use of the account through the tool server.

use std::io::Cursor;

use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::{Request, Response, Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::kit::form::Form;
use super::kit::member::{Member, Visitor};
use super::kit::refusal::Refusal;
use super::kit::reply::Reply;
use super::kit::screen::{NavLocation, Screen};
use super::kit::words::{role_name, sentence};
use super::sign_in::{fresh, sign_in_address};
use crate::accounts::account::Status as AccountStatus;
use crate::accounts::grants::grant_caller::may_grant;
use crate::accounts::members::member::Membership;
use crate::accounts::scope::Scope;
use crate::accounts::sessions;
use crate::error::{Error, Result};
use crate::http::headers::page_policy_with_forms_to;
use crate::infra::limits::per_client::Client;
use crate::infra::templates::{Message, tr};
use crate::oauth::authorization::{AuthorizationRequest, Unanswerable};

pub fn routes() -> Vec<Route> {
    routes![ask, answer]
}

pub const PATH: &str = "/oauth/authorize";

const SCREEN: Screen<'static> = Screen {
    template: "console/authorize.html",
    title: tr("Connect an app"),
    location: NavLocation::Account,
    calls: &[],
};

const CANNOT: Message = tr("This app cannot be connected");

struct RawQuery(String);

#[rocket::async_trait]
impl<'r> rocket::request::FromRequest<'r> for RawQuery {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> rocket::request::Outcome<Self, Self::Error> {
        let query = request.uri().query().map_or("", |query| query.as_str());
        rocket::request::Outcome::Success(Self(query.to_owned()))
    }
}

#[get("/oauth/authorize")]
async fn ask(
    visitor: Visitor<'_>,
    member: Option<Member<'_>>,
    client: Client<'_>,
    query: RawQuery,
) -> Result<Answer, Refusal> {
    let RawQuery(query) = query;
    let oauth = &visitor.app.oauth;
    let request = match AuthorizationRequest::read(oauth, client.net(), &query).await {
        Ok(request) => request,
        Err(why) => return unanswerable(why, |reason| visitor_page(&visitor, reason)),
    };
    match member {
        Some(member) => page(&member, &request, &query, None, None).await,
        None => Ok(Answer::Page(Reply::to(sign_in_address(&format!("{PATH}?{query}"))))),
    }
}

#[post("/oauth/authorize", data = "<form>")]
async fn answer(member: Member<'_>, client: Client<'_>, form: Form) -> Result<Answer, Refusal> {
    let (oauth, query) = (&member.app.oauth, form.text("request"));
    let request = match AuthorizationRequest::read(oauth, client.net(), &query).await {
        Ok(request) => request,
        Err(why) => return unanswerable(why, |reason| stated(&member, reason)),
    };
    if form.get("answer") != Some("allow") {
        return Ok(Answer::Away(request.denied(oauth)));
    }
    let account_id = form.text("account_id");
    let scope = Scope::parse(&form.text("scope")).ok_or(Error::ScopeNotAllowed)?;
    match request.allow(oauth, &member.member, account_id.as_str().into(), scope).await {
        Ok(address) => Ok(Answer::Away(address)),
        Err(error @ (Error::SignInRequired | Error::ScopeNotAllowed | Error::AccountNotActive)) => {
            page(&member, &request, &query, Some((&account_id, scope)), Some(&error)).await
        }
        Err(error) => Err(error.into()),
    }
}

fn unanswerable(why: Unanswerable, page: impl FnOnce(&str) -> Reply) -> Result<Answer, Refusal> {
    match why {
        Unanswerable::Stated(refusal) => Ok(Answer::Page(page(refusal.error_description))),
        Unanswerable::Redirected(address) => Ok(Answer::Away(address)),
        Unanswerable::Failed(error) => Err(error.into()),
    }
}

fn visitor_page(visitor: &Visitor<'_>, reason: &str) -> Reply {
    visitor.page(400, "console/not_connected.html", CANNOT, context! { reason })
}

fn stated(member: &Member<'_>, reason: &str) -> Reply {
    let screen = Screen { template: "console/not_connected_here.html", title: CANNOT, ..SCREEN };
    member.screen_with_status(400, screen, context! { reason })
}

async fn page(
    member: &Member<'_>,
    request: &AuthorizationRequest,
    query: &str,
    chosen: Option<(&str, Scope)>,
    wrong: Option<&Error>,
) -> Result<Answer, Refusal> {
    let memberships =
        sessions::memberships(&member.app.infra.pool, &member.app.infra.outbox, &member.member)
            .await?;
    let own = member.member.account.account_id.as_str();
    let (account_id, scope) = chosen.unwrap_or((own, proposed_for(member, request.proposed)));
    let account = |membership: &Membership| {
        let account = &membership.account;
        json!({
            "id": account.account_id,
            "name": account.display_name,
            "email": account.email,
            "may": role_name(membership.role),
            "is_chosen": account.account_id.as_str() == account_id,
            "is_active": account.status == AccountStatus::Active,
        })
    };
    let scopes = [Scope::Read, Scope::Operate, Scope::Full].into_iter();
    let scopes = scopes.filter(|one| memberships.iter().any(|it| may_grant(it.role, *one)));
    let scopes = scopes.map(|one| {
        json!({ "scope": one, "name": role_name(one), "means": means(one), "is_chosen": one == scope })
    });
    let content = context! {
        request: query,
        next: format!("{PATH}?{query}"),
        app: &request.client.name,
        host: &request.client.host,
        destination: request.destination(),
        accounts: memberships.iter().map(account).collect::<Vec<_>>(),
        scopes: scopes.collect::<Vec<Value>>(),
        is_fresh: fresh::is_fresh(member),
        has_passkey: fresh::has_passkey(member).await?,
        error: wrong.map(|error| match error {
            Error::ScopeNotAllowed => tr("Your role in this account does not allow that."),
            error => sentence(error),
        }),
    };
    let status = wrong.map_or(200, Error::status);
    let reply =
        member.screen_with_status(if status == 401 { 403 } else { status }, SCREEN, content);
    Ok(Answer::Form { reply, policy: page_policy_with_forms_to(&request.form_source()) })
}

/// The scope that the page proposes: the requested one, or the largest that the member may allow.
fn proposed_for(member: &Member<'_>, asked: Scope) -> Scope {
    let role = member.member.role;
    if may_grant(role, asked) { asked } else { role }
}

fn means(scope: Scope) -> Message {
    match scope {
        Scope::Read => tr("see sites, choices, contacts, members and keys; change nothing"),
        Scope::Operate => tr(
            "add and change sites, popups, contacts and webhooks; no deletions, keys, billing or account",
        ),
        Scope::Full => tr("everything that you can do, except creating API keys"),
    }
}

/// A page, a page whose `policy` permits its form to redirect to the app, or a redirect to the app.
enum Answer {
    Page(Reply),
    Form { reply: Reply, policy: String },
    Away(String),
}

impl<'r> Responder<'r, 'static> for Answer {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        match self {
            Self::Page(reply) => reply.respond_to(request),
            Self::Form { reply, policy } => {
                let mut response = Response::build_from(reply.respond_to(request)?);
                response.raw_header("Content-Security-Policy", policy).ok()
            }
            Self::Away(address) => Response::build()
                .status(Status::SeeOther)
                .raw_header("Location", address)
                .raw_header("Referrer-Policy", "no-referrer")
                .sized_body(0, Cursor::new(Vec::new()))
                .ok(),
        }
    }
}
