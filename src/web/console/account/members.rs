use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::member_words::{ROLES, SITES, invitation, keys_counted, notice_of, role_change};
use crate::accounts::capability::NoInput;
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::input::{OnMember, Removal};
use crate::accounts::members::inviting::{Invitation, InviteMember, MAX_MEMBERS};
use crate::accounts::members::member_list::{
    ChangeMember, ListMembers, RemoveMember, count_keys_made_by, last_sign_ins,
};
use crate::accounts::members::member_view::MemberView;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::proof::{Step, code_of, is_about_the_code};
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::site_choice::{Hosts, SiteChoice};
use crate::web::console::kit::words::{role_name, sentence};
use crate::web::console::sign_in::fresh::is_fresh;

pub fn routes() -> Vec<Route> {
    routes![members, invite, show_member, change_role, remove]
}

const MEMBERS: Screen<'static> = Screen {
    template: "console/members.html",
    title: tr("Members"),
    location: NavLocation::AccountPart("members"),
    calls: &[
        "GET /v1/account/members",
        "POST /v1/account/members",
        "PATCH /v1/account/members/{member_id}",
        "DELETE /v1/account/members/{member_id}",
    ],
};
const ADDRESS: &str = "/console/account/members";

#[get("/console/account/members")]
async fn members(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let has_mail = member.app.infra.outbox.mailer.is_configured();
    let notice = query.get("done").and_then(|done| notice_of(done, has_mail));
    let sites = SiteChoice::default();
    Ok(members_screen(&member, 200, &sites, context! { notice, role: "read" }).await?)
}

async fn members_screen(
    member: &Member<'_>,
    status: u16,
    sites: &SiteChoice,
    more: impl serde::Serialize,
) -> Result<Reply> {
    let members = member.ask::<ListMembers>(NoInput {}).await?.members;
    let infra = &member.app.infra;
    let hosts = Hosts::of(member).await?;
    let seen = last_sign_ins(&infra.pool, &member.member.account.account_id).await?;
    let row = |listed: &MemberView| {
        let seen = seen.get(&listed.email).map(|time| Message::DayOf(*time));
        json!({
            "id": listed.member_id,
            "email": listed.email,
            "is_you": listed.email == member.member.address,
            "may": role_name(listed.role),
            "sites": hosts.named(listed.pixels.as_deref()),
            "since": Message::DayOf(listed.created_at.0),
            "seen": seen,
        })
    };
    let more = serde_json::to_value(more).unwrap_or_default();
    let free = MAX_MEMBERS - i64::try_from(members.len()).unwrap_or(MAX_MEMBERS);
    let content = context! {
        rows: members.iter().map(row).collect::<Vec<_>>(),
        may_change: member.member.role == Scope::Full,
        has_room: free > 0,
        roles: roles(),
        roles_hint: ROLES,
        notice: &more["notice"],
        email: &more["email"],
        role: &more["role"],
        error: &more["error"],
        site_fields: sites.fields(&hosts),
        sites_hint: SITES,
        sites_error: &more["sites_error"],
    };
    Ok(member.screen_with_status(status, MEMBERS, content))
}

fn roles() -> Vec<Value> {
    let role = |scope: Scope| json!({"scope": scope, "name": role_name(scope)});
    vec![role(Scope::Read), role(Scope::Operate), role(Scope::Full)]
}

fn role_of(form: &Form) -> Scope {
    form.get("role").and_then(Scope::parse).unwrap_or(Scope::Read)
}

fn step(member: &Member<'_>, what: Message, action: String, button: Message) -> Step<'static> {
    Step {
        title: tr("Confirm it’s you"),
        what,
        action,
        fields: Vec::new(),
        button,
        is_grave: false,
        back: ADDRESS,
        part: "members",
        purpose: CodePurpose::Keys,
        mailbox: member.member.address.clone(),
        present: None,
        calls: &["POST /v1/account/codes", "POST /v1/account/members"],
    }
}

#[post("/console/account/members", data = "<form>")]
async fn invite(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let (email, role, sites) = (form.text("email"), role_of(&form), SiteChoice::of(&form));
    if let Some(sites_error) = sites.problem(Some(role)) {
        let more = context! { email, role, sites_error };
        return Ok(members_screen(&member, 422, &sites, more).await?);
    }
    let invited = match code_of(&form) {
        None if !is_fresh(&member) => begin_invitation(&member, &email, role, &sites).await,
        code => {
            let (email, pixels) = (Some(email.clone()), sites.pixels());
            let invitation = Invitation { email, role, pixels, code };
            let invited = member.ask::<InviteMember>(invitation).await;
            invited.map(|_| Reply::to(format!("{ADDRESS}?done=invited")))
        }
    };
    match invited {
        Err(error) if is_about_the_code(&error) => {
            let step = invitation_step(&member, &email, role, &sites);
            Ok(step.page(&member, error.status(), Some(&error)))
        }
        Err(error) if error.status() < 500 || matches!(error, Error::InvitationFailed) => {
            let more = context! { email, role, error: sentence(&error) };
            Ok(members_screen(&member, error.status(), &sites, more).await?)
        }
        other => Ok(other?),
    }
}

/// Validates the form before a code is mailed.
async fn begin_invitation(
    member: &Member<'_>,
    email: &str,
    role: Scope,
    sites: &SiteChoice,
) -> Result<Reply> {
    let email = crate::types::email::Email::required(Some(email))?;
    let members = member.ask::<ListMembers>(NoInput {}).await?.members;
    if members.iter().any(|listed| listed.email == email.as_str()) {
        return Err(Error::AlreadyMember);
    }
    invitation_step(member, email.as_str(), role, sites).begin(member).await
}

fn invitation_step(
    member: &Member<'_>,
    email: &str,
    role: Scope,
    sites: &SiteChoice,
) -> Step<'static> {
    let what = invitation(email, role, sites);
    let mut fields = vec![("email", email.to_owned()), ("role", role.as_str().to_owned())];
    fields.extend(sites.hidden());
    Step { fields, ..step(member, what, ADDRESS.to_owned(), tr("Invite the member")) }
}

async fn find(member: &Member<'_>, member_id: &str) -> Result<MemberView> {
    let members = member.ask::<ListMembers>(NoInput {}).await?.members;
    let is_it =
        |listed: &MemberView| listed.member_id.is_some_and(|id| id.to_string() == member_id);
    members.into_iter().find(is_it).ok_or(Error::MemberNotFound)
}

#[get("/console/account/members/<member_id>", rank = 2)]
async fn show_member(member: Member<'_>, member_id: &str) -> Result<Reply, Refusal> {
    let found = find(&member, member_id).await?;
    let shown = Shown::of(&found);
    Ok(member_screen(&member, 200, member_id, &found, shown).await?)
}

/// The form of a member, with the error if it was refused.
struct Shown {
    role: Scope,
    sites: SiteChoice,
    sites_error: Option<Message>,
}

impl Shown {
    fn of(found: &MemberView) -> Self {
        let sites = SiteChoice::stored(found.pixels.as_deref());
        Self { role: found.role, sites, sites_error: None }
    }
}

async fn member_screen(
    member: &Member<'_>,
    status: u16,
    member_id: &str,
    found: &MemberView,
    shown: Shown,
) -> Result<Reply> {
    let (infra, account_id) = (&member.app.infra, &member.member.account.account_id);
    let keys = count_keys_made_by(&infra.pool, &infra.clock, account_id, &found.email).await?;
    let hosts = Hosts::of(member).await?;
    let content = context! {
        id: member_id,
        email: &found.email,
        role: shown.role,
        site_fields: shown.sites.fields(&hosts),
        sites_hint: SITES,
        sites_error: shown.sites_error,
        roles: roles(),
        roles_hint: ROLES,
        is_you: found.email == member.member.address,
        may_change: member.member.role == Scope::Full,
        has_keys: keys > 0,
        keys: keys_counted(i64::try_from(keys).unwrap_or(i64::MAX)),
    };
    let screen = Screen { template: "console/one_member.html", title: tr("A member"), ..MEMBERS };
    Ok(member.screen_with_status(status, screen, content))
}

#[post("/console/account/members/<member_id>/role", data = "<form>")]
async fn change_role(member: Member<'_>, member_id: &str, form: Form) -> Result<Reply, Refusal> {
    let (found, role) = (find(&member, member_id).await?, role_of(&form));
    let sites = SiteChoice::of(&form);
    if let Some(problem) = sites.problem(Some(role)) {
        let shown = Shown { role, sites, sites_error: Some(problem) };
        return Ok(member_screen(&member, 422, member_id, &found, shown).await?);
    }
    let what = role_change(&found, role, &sites);
    let action = format!("{ADDRESS}/{member_id}/role");
    let mut fields = vec![("role", role.as_str().to_owned())];
    fields.extend(sites.hidden());
    let step = Step { fields, ..step(&member, what, action, tr("Save")) };
    let code = code_of(&form);
    if code.is_none() && !is_fresh(&member) {
        return Ok(step.begin(&member).await?);
    }
    let (member_id, pixels) = (member_id.into(), sites.pixels());
    let all_pixels = Some(pixels.is_none());
    let change = OnMember { member_id, role, pixels, all_pixels, code };
    match member.ask::<ChangeMember>(change).await {
        Ok(_) => Ok(Reply::to(format!("{ADDRESS}?done=changed"))),
        Err(error) if is_about_the_code(&error) => {
            Ok(step.page(&member, error.status(), Some(&error)))
        }
        Err(error) => Err(error.into()),
    }
}

#[post("/console/account/members/<member_id>/remove", data = "<form>")]
async fn remove(member: Member<'_>, member_id: &str, form: Form) -> Result<Reply, Refusal> {
    let ends_keys = form.get("keys") == Some("end");
    let removal = Removal { member_id: member_id.into(), revoke_keys: Some(ends_keys) };
    member.ask::<RemoveMember>(removal).await?;
    let done = if ends_keys { "removed-with-keys" } else { "removed" };
    Ok(Reply::to(format!("{ADDRESS}?done={done}")))
}
