use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::json;

use super::next_of;
use crate::accounts::members::member::Membership;
use crate::accounts::sessions;
use crate::error::{Error, Result};
use crate::infra::templates::tr;
use crate::types::ids::AccountId;
use crate::web::console::kit::browser::Browser;
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::role_name;

pub fn routes() -> Vec<Route> {
    routes![accounts, choose]
}

#[get("/console/accounts")]
async fn accounts(member: Member<'_>) -> Result<Reply, Refusal> {
    let memberships =
        sessions::memberships(&member.app.infra.pool, &member.app.infra.outbox, &member.member)
            .await?;
    let row = |membership: &Membership| {
        let account = &membership.account;
        json!({
            "id": account.account_id,
            "name": account.display_name,
            "email": account.email,
            "may": role_name(membership.role),
            "is_here": account.account_id == member.member.account.account_id,
        })
    };
    let screen = Screen {
        template: "console/which_account.html",
        title: tr("Which account?"),
        location: NavLocation::Account,
        calls: &[],
    };
    Ok(member.screen(screen, context! { rows: memberships.iter().map(row).collect::<Vec<_>>() }))
}

#[post("/console/accounts", data = "<form>")]
async fn choose(member: Member<'_>, browser: Browser, form: Form) -> Result<Reply, Refusal> {
    let infra = &member.app.infra;
    let account_id = AccountId::parse(&form.text("account_id")).ok_or(Error::NotFound)?;
    if account_id != member.member.account.account_id {
        let session = sessions::switch_to(infra, &member.member, &account_id, &browser.0).await?;
        cookies::replace_secret(
            &infra.clock,
            infra.base_url(),
            member.jar,
            &session.ok_or(Error::NotFound)?,
        );
    }
    Ok(Reply::to(next_of(form.get("next"))))
}
