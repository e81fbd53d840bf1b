use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;

use super::install::find;
use crate::consent_receipt::receipt::Receipt;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::OfPixel;
use crate::pixels::test_hosts::{ChangeTestHosts, TestHostsRequest};
use crate::policies::history::ReadConsentConfiguration;
use crate::receipts::test_choices::ReadTestChoices;
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::sent::Sent;
use crate::web::console::visitors::choice_words::{purposes_of, state_name};

pub fn routes() -> Vec<Route> {
    routes![test_tag, change_hosts]
}

#[derive(Serialize)]
struct TestChoice {
    state: &'static str,
    name: Message,
    purposes: Vec<Message>,
    at: Message,
    origin: String,
}

impl TestChoice {
    fn of(receipt: &Receipt) -> Self {
        Self {
            state: receipt.consent_state.as_str(),
            name: state_name(receipt.consent_state),
            purposes: purposes_of(&receipt.purposes),
            at: Message::Second(receipt.recorded_at),
            origin: receipt.origin.clone(),
        }
    }
}

#[get("/console/sites/<pixel_id>/test")]
async fn test_tag(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Reply, Refusal> {
    screen(&member, &pixel_id, Sent::of(&query)).await
}

async fn screen(
    member: &Member<'_>,
    pixel_id: &PixelParam,
    sent: Sent<'_>,
) -> Result<Reply, Refusal> {
    let pixel = &find(member, pixel_id).await?;
    let input = OfPixel { pixel_id: pixel_id.clone() };
    let hosts = member.ask::<ReadConsentConfiguration>(input.clone()).await?.test_hosts;
    let hosts = hosts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let choices = member.ask::<ReadTestChoices>(input).await?.receipts;
    let lines = hosts.join("\n");
    let content = context! {
        asks: pixel.consent_enabled,
        test_snippet: &pixel.test_snippet,
        hosts: &hosts,
        typed: sent.text(&lines),
        error: sent.error(),
        choices: choices.iter().map(TestChoice::of).collect::<Vec<_>>(),
        notice: sent.notice(tr("The test hosts have been saved.")),
    };
    let screen = Screen {
        template: "console/test.html",
        title: tr("Test"),
        location: NavLocation::of(pixel, "test"),
        calls: &[
            "GET /v1/pixels/{pixel_id}",
            "GET /v1/pixels/{pixel_id}/consent/configuration",
            "POST /v1/pixels/{pixel_id}/consent",
        ],
    };
    Ok(member.screen_with_status(sent.status(), screen, content))
}

#[post("/console/sites/<pixel_id>/test", data = "<form>")]
async fn change_hosts(
    member: Member<'_>,
    pixel_id: PixelParam,
    form: Form,
) -> Result<Reply, Refusal> {
    let typed = form.text("test_hosts");
    let hosts = typed.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
    let request = TestHostsRequest { pixel_id: pixel_id.clone(), test_hosts: hosts.collect() };
    match member.ask::<ChangeTestHosts>(request).await {
        Ok(_) => Ok(Reply::to(format!("/console/sites/{pixel_id}/test?done=saved"))),
        Err(error @ Error::Naming { .. }) => {
            screen(&member, &pixel_id, Sent::Refused(&typed, &error)).await
        }
        Err(error) => Err(error.into()),
    }
}
