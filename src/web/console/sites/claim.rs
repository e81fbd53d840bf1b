use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use super::new_site::host_of;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::pixels::claims::claim::VerifyClaim;
use crate::pixels::claims::opening::{ClaimHost, ShowClaim};
use crate::pixels::input::{OfClaim, PixelRequest};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![open, show, look]
}

const CLAIM: Screen<'static> = Screen {
    template: "console/claim.html",
    title: tr("Claim a site"),
    location: NavLocation::Sites,
    calls: &["POST /v1/pixels/claims", "POST /v1/pixels/claims/{token}/verify"],
};

/// Every claim has its own page, so that the member can return to it after changing the DNS.
fn address(token: &str) -> String {
    format!("/console/claims/{token}")
}

#[post("/console/claims", data = "<form>")]
async fn open(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let domain = Some(host_of(&form.text("domain")));
    let claim = member.ask::<ClaimHost>(PixelRequest { domain, method: None }).await?;
    Ok(Reply::to(address(&claim.token)))
}

#[get("/console/claims/<token>")]
async fn show(member: Member<'_>, token: &str) -> Result<Reply, Refusal> {
    claim_screen(&member, 200, token, None).await
}

async fn claim_screen(
    member: &Member<'_>,
    status: u16,
    token: &str,
    error: Option<&Error>,
) -> Result<Reply, Refusal> {
    let claim = member.ask::<ShowClaim>(OfClaim { token: token.to_owned() }).await?;
    if claim.is_taken {
        return Ok(Reply::to(format!("/console/sites/{}/install", claim.pixel_id)));
    }
    let content = context! {
        host: claim.domain.as_str(),
        record: &claim.record_name,
        token,
        snippet: &claim.snippet,
        action: address(token),
        until: Message::Moment(claim.expires_at.0),
        error: error.map(sentence),
    };
    Ok(member.screen_with_status(status, CLAIM, content))
}

#[post("/console/claims/<token>", data = "<_form>")]
async fn look(member: Member<'_>, token: &str, _form: Form) -> Result<Reply, Refusal> {
    match member.ask::<VerifyClaim>(OfClaim { token: token.to_owned() }).await {
        Ok(pixel) => {
            Ok(Reply::to(format!("/console/sites/{}/popup?done=taken-over", pixel.pixel_id)))
        }
        Err(Error::ClaimNotFound) => Err(Error::ClaimNotFound.into()),
        Err(error) => claim_screen(&member, error.status(), token, Some(&error)).await,
    }
}
