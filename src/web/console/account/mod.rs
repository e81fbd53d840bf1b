pub mod account_mails;
mod account_rows;
pub mod apps;
pub mod billing;
pub mod events;
pub mod imports;
pub mod leave;
mod member_words;
pub mod members;
mod passkey_list;
pub mod passkeys;
pub mod preferences;
pub mod profile;
pub mod suppressed;
pub mod upload;

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use uuid::Uuid;

use self::account_rows::{KeyRow, SessionRow, gauges};
use super::kit::form::Form;
use super::kit::member::Member;
use super::kit::plan_summary::plan;
use super::kit::refusal::Refusal;
use super::kit::reply::Reply;
use super::kit::screen::{NavLocation, Screen};
use super::kit::site_choice::{Hosts, SiteChoice};
use super::kit::words::{role_name, sentence};
use super::sign_in::fresh;
use crate::accounts::account::Plan;
use crate::accounts::capability::NoInput;
use crate::accounts::grants;
use crate::accounts::input::OfKey;
use crate::accounts::keys::key_issuing::{IssueApiKey, KeyOrder, KeyRequest};
use crate::accounts::keys::{ListApiKeys, RevokeApiKey};
use crate::accounts::profile::address_change;
use crate::accounts::scope::Scope;
use crate::accounts::sessions;
use crate::billing::whoami::ShowCaller;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};

pub fn routes() -> Vec<Route> {
    routes![account, make_key, ask_to_revoke, revoke, end_session]
}

const ACCOUNT: Screen<'static> = Screen {
    template: "console/account.html",
    title: tr("Account"),
    location: NavLocation::Account,
    calls: &["GET /v1/whoami", "GET /v1/api-keys", "POST /v1/api-keys", "GET /v1/grants"],
};

pub const ADDRESS: &str = "/console/account";

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "revoked" => Some(tr("The key is revoked. Programs that use it are refused from now on.")),
        "disconnected" => Some(tr("The app is disconnected. Its tokens are refused from now on.")),
        "ended" => Some(tr("The session is signed out.")),
        "passkey-added" => Some(tr("The passkey is added. You can sign in with it from now on.")),
        "passkey-removed" => Some(tr("The passkey is removed. Remove it from your device too.")),
        "renamed" => Some(tr("Name saved.")),
        "moved" => Some(tr("Email changed. Sign in with the new one from now on.")),
        "waiting" => {
            Some(tr("The new email takes effect in seven days. Both mailboxes are notified."))
        }
        "kept" => Some(tr("The email is unchanged.")),
        _ => None,
    }
}

#[get("/console/account")]
async fn account(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let notice = query.get("done").and_then(notice_of);
    Ok(account_screen(&member, 200, notice, None).await?)
}

/// A refused form for a new key, with its errors.
#[derive(Default)]
struct RefusedKey {
    name: String,
    scope: Option<Scope>,
    days: String,
    sites: SiteChoice,
    error: Option<Message>,
    sites_error: Option<Message>,
}

async fn account_screen(
    member: &Member<'_>,
    status: u16,
    notice: Option<Message>,
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
    let has_choice =
        sessions::memberships(&infra.pool, &infra.outbox, &member.member).await?.len() > 1;
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
        // While identification is paused, the banner above the screen contains the button.
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
        sites_hint: tr("A key for some sites does not see the others, and cannot manage the account."),
        error: refused.error,
        sites_error: refused.sites_error,
    };
    Ok(member.screen_with_status(status, ACCOUNT, content))
}

/// The options for the expiry of a key: the days as the form sends them, and the label.
const LIVES: [(&str, Message); 4] = [
    ("", tr("Never")),
    ("30", tr("In 30 days")),
    ("90", tr("In 90 days")),
    ("365", tr("In 365 days")),
];

async fn waiting_address(member: &Member<'_>) -> Result<Option<Message>> {
    if member.member.role != Scope::Full {
        return Ok(None);
    }
    let account_id = &member.member.account.account_id;
    let pending = address_change::find(&member.app.infra.pool, account_id).await?;
    Ok(pending.map(|it| {
        let time = Message::Moment(it.takes_effect_at.0);
        tr("{{ email }} from {{ time }} on").with("email", it.email).with("time", time)
    }))
}

#[post("/console/account/keys", data = "<form>")]
async fn make_key(mut member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    // An unknown scope is replaced by the one with the fewest permissions.
    let scope = form.get("scope").map(|scope| Scope::parse(scope).unwrap_or(Scope::Read));
    let sites = SiteChoice::of(&form);
    let (name, days, sites_error) = (form.text("name"), form.text("days"), sites.problem(None));
    let request = KeyRequest {
        name: form.get("name").map(str::to_owned),
        scope,
        // Text that is not a number becomes 0, which is refused: it must not create a key that never expires.
        expires_in_days: form.get("days").map(|days| days.parse().unwrap_or_default()),
        pixels: sites.pixels(),
    };
    if sites_error.is_none() {
        let what = tr(
            "To create a key, confirm that it is you: your last sign-in was more than 15 minutes ago.",
        );
        let mut step = fresh::step(&member, what, "/console/account/keys");
        let typed = ["name", "scope", "days"];
        let typed =
            typed.into_iter().filter_map(|field| Some((field, form.get(field)?.to_owned())));
        step.fields.extend(typed.chain(sites.hidden()));
        if let Some(reply) = fresh::confirm(&mut member, &form, step).await? {
            return Ok(reply);
        }
    }
    let issued = match &sites_error {
        Some(_) => Err(Error::Validation(Vec::new())),
        None => {
            let order = KeyOrder { account_id: None, request: Ok(request) };
            member.ask::<IssueApiKey>(order).await
        }
    };
    match issued {
        Ok(issued) => {
            let screen =
                Screen { template: "console/new_key.html", title: tr("New API key"), ..ACCOUNT };
            let granted = scope.unwrap_or(Scope::Full);
            let content = context! {
                api_key: issued.api_key,
                prefix: issued.prefix,
                scope: granted,
                is_for_some: sites.pixels().is_some(),
                expires: issued.expires_at.map(|time| Message::DayOf(time.0)),
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
        title: tr("Revoke key"),
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
            // Apps that were connected in that session lose access too: its holder may have been somebody else.
            grants::end_of_session(&member.app.infra.pool, session_id).await?;
            Ok(Reply::to("/console/account?done=ended"))
        }
        false => Err(Error::NotFound.into()),
    }
}
