use rocket::{Route, post, routes};
use rocket_dyn_templates::context;

use crate::billing::checkout::OpenCheckout;
use crate::billing::payer::PayerRequest;
use crate::billing::portal::OpenBillingPortal;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};

pub fn routes() -> Vec<Route> {
    routes![subscribe, manage]
}

/// Shows a link to the provider, because the Content-Security-Policy permits forms to this service only.
fn way_out(member: &Member<'_>, calls: &'static [&'static str], what: Message, url: &str) -> Reply {
    let screen = Screen {
        template: "console/way_out.html",
        title: tr("To the payment provider"),
        location: NavLocation::Account,
        calls,
    };
    member.screen(screen, context! { what, url })
}

fn payer(member: &Member<'_>) -> PayerRequest {
    PayerRequest { account_id: member.member.account.account_id.clone().into() }
}

#[post("/console/account/subscribe", data = "<_form>")]
async fn subscribe(member: Member<'_>, _form: Form) -> Result<Reply, Refusal> {
    let opened = match member.ask::<OpenCheckout>(payer(&member)).await {
        // A subscription already runs, for example with an unpaid invoice, which the member can pay in the portal.
        Err(Error::AlreadySubscribed) => return Ok(portal(&member).await?),
        opened => opened?,
    };
    let calls = &["POST /v1/accounts/{account_id}/checkout"];
    let what = tr("Pay there, on the provider’s own page. We never see your card.");
    Ok(way_out(&member, calls, what, &opened.url))
}

async fn portal(member: &Member<'_>) -> Result<Reply> {
    let opened = member.ask::<OpenBillingPortal>(payer(member)).await?;
    let calls = &["POST /v1/accounts/{account_id}/portal"];
    let what = tr(
        "See invoices, change the card or cancel there, on the provider’s own page. We never see your card.",
    );
    Ok(way_out(member, calls, what, &opened.url))
}

#[post("/console/account/billing", data = "<_form>")]
async fn manage(member: Member<'_>, _form: Form) -> Result<Reply, Refusal> {
    Ok(portal(&member).await?)
}
