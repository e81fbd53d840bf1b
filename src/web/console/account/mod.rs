pub mod account_mails;
pub mod apps;
pub mod billing;
pub mod events;
pub mod events_table;
pub mod imports;
pub mod leave;
pub mod members;
mod passkey_list;
pub mod passkeys;
pub mod profile;
pub mod suppressed;
pub mod upload;

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::kit::form::Form;
use super::kit::member::Member;
use super::kit::plan_summary::plan;
use super::kit::refusal::Refusal;
use super::kit::reply::Reply;
use super::kit::screen::{Place, Screen};
use super::kit::site_choice::{Hosts, SiteChoice};
use super::kit::words::{day, moment, number, percent, role_name, sentence};
use super::sign_in::fresh;
use crate::accounts::account::Plan;
use crate::accounts::capability::NoInput;
use crate::accounts::grants;
use crate::accounts::input::OfKey;
use crate::accounts::keys::key_issuing::{IssueApiKey, KeyOrder, KeyRequest};
use crate::accounts::keys::{KeyView, ListApiKeys, RevokeApiKey};
use crate::accounts::profile::address_change;
use crate::accounts::scope::Scope;
use crate::accounts::sessions::{self, SessionView};
use crate::billing::whoami::ShowCaller;
use crate::contacts::allowance::Allowance;
use crate::error::{Error, Result};
use crate::http::query::Query;

pub fn routes() -> Vec<Route> {
    routes![account, make_key, ask_to_revoke, revoke, end_session]
}

const ACCOUNT: Screen<'static> = Screen {
    template: "console/account.html",
    title: "Account",
    place: Place::Account,
    calls: &["GET /v1/whoami", "GET /v1/api-keys", "POST /v1/api-keys", "GET /v1/grants"],
};

pub const ADDRESS: &str = "/console/account";

#[derive(Serialize)]
struct KeyRow {
    prefix: String,
    name: Option<String>,
    scope: Scope,
    made_by: Option<String>,
    sites: String,
    created: String,
    expires: String,
    is_expired: bool,
    used: String,
}

impl KeyRow {
    fn of(key: KeyView, hosts: &Hosts) -> Self {
        Self {
            sites: hosts.named(key.pixels.as_deref()),
            expires: key.expires_at.map_or_else(|| "never".to_owned(), |time| day(time.0)),
            is_expired: key.expired,
            created: day(key.created_at.0),
            used: key.last_used_at.map_or_else(|| "never".to_owned(), |time| day(time.0)),
            prefix: key.prefix,
            name: key.name,
            scope: key.scope,
            made_by: key.made_by,
        }
    }
}

#[derive(Serialize)]
struct SessionRow {
    id: Uuid,
    browser: String,
    address: String,
    since: String,
    seen: String,
    is_this: bool,
    is_elsewhere: bool,
}

impl From<SessionView> for SessionRow {
    fn from(session: SessionView) -> Self {
        Self {
            id: session.session_id,
            browser: session.browser,
            address: session.address,
            since: day(session.created_at.0),
            seen: moment(session.last_seen_at.0),
            is_this: session.is_this,
            is_elsewhere: session.is_elsewhere,
        }
    }
}

fn notice_of(done: &str) -> Option<&'static str> {
    match done {
        "revoked" => Some("The key is revoked. Programs that use it are refused from now on."),
        "disconnected" => Some("The app is disconnected. Its tokens are refused from now on."),
        "ended" => Some("The session is signed out."),
        "passkey-added" => Some("The passkey is added. You can sign in with it from now on."),
        "passkey-removed" => Some("The passkey is removed. Remove it from your device too."),
        "renamed" => Some("Name saved."),
        "moved" => Some("Email changed. Sign in with the new one from now on."),
        "waiting" => Some("The new email takes effect in seven days. Both mailboxes are notified."),
        "kept" => Some("The email is unchanged."),
        _ => None,
    }
}

#[get("/console/account")]
async fn account(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let notice = query.get("done").and_then(notice_of);
    Ok(account_screen(&member, 200, notice, None).await?)
}

/// A form for a key that was refused.
#[derive(Default)]
struct RefusedKey {
    name: String,
    scope: Option<Scope>,
    days: String,
    sites: SiteChoice,
    error: Option<String>,
    sites_error: Option<&'static str>,
}

async fn account_screen(
    member: &Member<'_>,
    status: u16,
    notice: Option<&str>,
    refused: Option<RefusedKey>,
) -> Result<Reply> {
    let caller = member.ask::<ShowCaller>(NoInput {}).await?;
    let hosts = Hosts::of(member).await?;
    let keys = match member.ask::<ListApiKeys>(NoInput {}).await {
        Ok(list) => {
            let row = |key| KeyRow::of(key, &hosts);
            Some(list.api_keys.into_iter().map(row).collect::<Vec<_>>())
        }
        Err(Error::ScopeNotAllowed | Error::RestrictedToSites) => None,
        Err(error) => return Err(error),
    };
    let refused = refused.unwrap_or_default();
    let infra = &member.app.infra;
    let sessions = sessions::list(infra, &member.member).await?;
    let has_choice = sessions::memberships(infra, &member.member).await?.len() > 1;
    let content = context! {
        notice,
        has_choice,
        account_id: &caller.account_id,
        display_name: &member.member.account.display_name,
        email: &member.member.account.email,
        waiting: waiting_address(member).await?,
        may: role_name(member.member.role),
        own_sites: hosts.named(member.member.sites.listed()),
        may_change: member.member.role == Scope::Full,
        plan_summary: plan(&caller),
        gauges: gauges(&caller.allowance),
        on_trial: caller.plan == Plan::Free,
        // While it is paused, the banner above the screen has the button.
        can_pay: caller.plan == Plan::Free
            && member.paused.as_ref().is_none_or(|paused| !paused.needs_subscription())
            && member.app.billing.stripe.is_configured(),
        has_paid: caller.plan == Plan::Paid,
        sees_keys: keys.is_some(),
        keys,
        apps: apps::rows(member).await?,
        sessions: sessions.into_iter().map(SessionRow::from).collect::<Vec<_>>(),
        passkeys: passkey_list::section(member).await?,
        is_fresh: fresh::is_fresh(member),
        has_passkey: fresh::has_passkey(member).await?,
        key_name: refused.name,
        key_scope: refused.scope,
        days: refused.days,
        lives: LIVES,
        site_fields: refused.sites.fields(&hosts),
        sites_hint: "A key for some sites does not see the others, and cannot manage the account.",
        error: refused.error,
        sites_error: refused.sites_error,
    };
    Ok(member.screen_with_status(status, ACCOUNT, content))
}

/// The choices of how long a key works: the days, and the words.
const LIVES: [(&str, &str); 4] =
    [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In 365 days")];

async fn waiting_address(member: &Member<'_>) -> Result<Option<String>> {
    if member.member.role != Scope::Full {
        return Ok(None);
    }
    let account_id = &member.member.account.account_id;
    let pending = address_change::find(&member.app.infra, account_id).await?;
    Ok(pending.map(|it| format!("{} from {} (UTC) on", it.email, moment(it.takes_effect_at.0))))
}

fn gauges(allowance: &Allowance) -> Vec<Value> {
    let gauge = |name: &str, used: i64, of: Option<i64>, note: String| {
        let of = of.filter(|of| *of > 0)?;
        let part = percent(used.min(of), of)?;
        let is_full = used >= of;
        Some(json!({
            "name": name, "used": number(used), "of": number(of), "part": part, "note": note,
            "is_full": is_full,
        }))
    };
    let resets = format!("Resets on {}.", day(allowance.resets_at.0));
    let contacts = (allowance.contacts_used, allowance.contacts_included);
    let sites = (allowance.pixels_used, allowance.pixels_included);
    [
        gauge("New contacts this month", contacts.0, contacts.1, resets),
        gauge("Sites", sites.0, sites.1, String::new()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[post("/console/account/keys", data = "<form>")]
async fn make_key(mut member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    // An unknown scope becomes the least.
    let scope = form.get("scope").map(|scope| Scope::parse(scope).unwrap_or(Scope::Read));
    let sites = SiteChoice::of(&form);
    let (name, days, sites_error) = (form.text("name"), form.text("days"), sites.problem(None));
    let request = KeyRequest {
        name: form.get("name").map(str::to_owned),
        scope,
        // A text that is no number is refused, not taken for never.
        expires_in_days: form.get("days").map(|days| days.parse().unwrap_or_default()),
        pixels: sites.pixels(),
    };
    if sites_error.is_none() {
        let what = "To create a key, confirm that it is you: your last sign-in was more than 15 minutes ago.";
        let mut step = fresh::step(&member, what, "/console/account/keys");
        let typed = ["name", "scope", "days"];
        let typed =
            typed.into_iter().filter_map(|field| Some((field, form.get(field)?.to_owned())));
        step.fields.extend(typed.chain(sites.hidden()));
        if let Some(reply) = fresh::confirm(&mut member, &form, step).await? {
            return Ok(reply);
        }
    }
    let issued = match sites_error {
        Some(_) => Err(Error::Validation(Vec::new())),
        None => {
            let order = KeyOrder { account_id: None, request: Ok(request) };
            member.ask::<IssueApiKey>(order).await
        }
    };
    match issued {
        Ok(issued) => {
            let screen =
                Screen { template: "console/new_key.html", title: "New API key", ..ACCOUNT };
            let granted = scope.unwrap_or(Scope::Full);
            let content = context! {
                api_key: issued.api_key,
                prefix: issued.prefix,
                scope: granted,
                is_for_some: sites.pixels().is_some(),
                expires: issued.expires_at.map(|time| day(time.0)),
            };
            Ok(member.screen_with_status(201, screen, content))
        }
        Err(error @ (Error::Validation(_) | Error::KeyAllowanceReached)) => {
            let status = error.status();
            let error = sites_error.is_none().then(|| sentence(&error));
            let refused = RefusedKey { name, scope, days, sites, error, sites_error };
            Ok(account_screen(&member, status, None, Some(refused)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

#[get("/console/account/keys/<prefix>/revoke")]
async fn ask_to_revoke(member: Member<'_>, prefix: &str) -> Result<Reply, Refusal> {
    let keys = member.ask::<ListApiKeys>(NoInput {}).await?.api_keys;
    let key = keys.into_iter().find(|key| key.prefix == prefix).ok_or(Error::ApiKeyNotFound)?;
    let hosts = Hosts::of(&member).await?;
    let screen = Screen {
        template: "console/revoke_key.html",
        title: "Revoke key",
        calls: &["DELETE /v1/api-keys/{prefix}"],
        ..ACCOUNT
    };
    Ok(member.screen(screen, context! { key: KeyRow::of(key, &hosts) }))
}

#[post("/console/account/keys/<prefix>/revoke", data = "<_form>")]
async fn revoke(member: Member<'_>, prefix: &str, _form: Form) -> Result<Reply, Refusal> {
    member.ask::<RevokeApiKey>(OfKey { prefix: prefix.to_owned() }).await?;
    Ok(Reply::to("/console/account?done=revoked"))
}

#[post("/console/account/sessions/<session_id>/end", data = "<_form>")]
async fn end_session(member: Member<'_>, session_id: &str, _form: Form) -> Result<Reply, Refusal> {
    let session_id = session_id.parse::<Uuid>().map_err(|_| Error::NotFound)?;
    match sessions::end(&member.app.infra, &member.member, session_id).await? {
        true => {
            // The holder of that session may have connected an app.
            grants::end_of_session(&member.app.infra, session_id).await?;
            Ok(Reply::to("/console/account?done=ended"))
        }
        false => Err(Error::NotFound.into()),
    }
}
