use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;

use crate::accounts::capability::NoInput;
use crate::accounts::mails::preferences::{ChangeMailPreferences, MailChange, ReadMailPreferences};
use crate::accounts::mails::switch::MailSwitch;
use crate::accounts::scope::Scope;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};

pub fn routes() -> Vec<Route> {
    routes![mails, choose]
}

const MAILS: Screen<'static> = Screen {
    template: "console/mails.html",
    title: tr("Email notifications"),
    location: NavLocation::AccountPart("mails"),
    calls: &["GET /v1/account/mails", "PATCH /v1/account/mails"],
};

#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: Message,
    occasion: Message,
    is_on: bool,
}

pub fn title(switch: MailSwitch) -> Message {
    match switch {
        MailSwitch::TrialEnding => tr("The trial ends"),
        MailSwitch::Allowance => tr("80% or 100% of monthly contacts used"),
        MailSwitch::PaymentFailed => tr("A payment fails, or the subscription ends"),
        MailSwitch::KeyExpiring => tr("An API key expires soon"),
        MailSwitch::TagVanished => tr("A snippet is missing"),
        MailSwitch::PixelEnding => tr("An unused site is removed"),
        MailSwitch::ErasureRequests => tr("New erasure requests"),
        MailSwitch::Silence => tr("A site breaks or recovers"),
        MailSwitch::WeeklyDigest => tr("Weekly digest"),
    }
}

#[get("/console/account/mails")]
async fn mails(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let preferences = member.ask::<ReadMailPreferences>(NoInput {}).await?;
    let row = |&switch: &MailSwitch| Row {
        name: switch.as_str(),
        title: title(switch),
        occasion: switch.occasion(),
        is_on: preferences.has(switch),
    };
    let content = context! {
        email: &member.member.account.email,
        rows: MailSwitch::ALL.iter().map(row).collect::<Vec<_>>(),
        may_change: member.member.role == Scope::Full,
        sends_mail: member.app.infra.outbox.mailer.is_configured(),
        notice: query.get("done").filter(|&done| done == "saved").map(|_| tr("Saved.")),
    };
    Ok(member.screen(MAILS, content))
}

/// Browsers send ticked boxes only, so a missing field turns a notification off.
#[post("/console/account/mails", data = "<form>")]
async fn choose(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let change = MailChange::of(|switch| form.get(switch.as_str()).is_some());
    member.ask::<ChangeMailPreferences>(change).await?;
    Ok(Reply::to("/console/account/mails?done=saved"))
}
