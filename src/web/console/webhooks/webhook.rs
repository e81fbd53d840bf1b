use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use super::deliveries::{ADDRESS, Choices, DELIVERIES, Filled, LOCATION, row, secret_screen};
use super::delivery_list::{DeliveryQuery, list};
use super::failure;
use crate::accounts::capability::NoInput;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::Screen;
use crate::web::console::kit::words::sentence;
use crate::webhooks::delivery::{DeliveryState, ListDeliveries};
use crate::webhooks::endpoint::EndpointView;
use crate::webhooks::endpoints::{ChangeWebhook, DeleteWebhook, RotateWebhookSecret};
use crate::webhooks::input::{EndpointChange, OfEndpoint, OnEndpoint};
use crate::webhooks::listing::ListWebhooks;
use crate::webhooks::replay::{OfDelivery, ReplayDelivery, ReplayWebhook, SinceOfEndpoint};
use crate::webhooks::trial::TestWebhook;

pub fn routes() -> Vec<Route> {
    routes![
        webhook,
        change,
        test,
        pause,
        resume,
        rotate,
        ask_to_delete,
        delete,
        replay_one,
        replay,
        replay_failed,
    ]
}

const WEBHOOK: Screen<'static> = Screen {
    template: "console/webhook.html",
    title: tr("Webhook endpoint"),
    location: LOCATION,
    calls: &[
        "GET /v1/webhooks/{endpoint_id}/deliveries",
        "PATCH /v1/webhooks/{endpoint_id}",
        "POST /v1/webhooks/{endpoint_id}/test",
        "POST /v1/webhooks/{endpoint_id}/replay",
    ],
};

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "added" => Some(tr("The endpoint is added. Send a test event to check that it arrives.")),
        "changed" => Some(tr("Saved. The change applies from the next event.")),
        "arrived" => Some(tr("The test event was delivered.")),
        "paused" => Some(tr("Paused. Events are kept for a day.")),
        "resumed" => Some(tr("Resumed. Queued events are being sent.")),
        "replayed" => Some(tr("Queued for resending.")),
        "none-failed" => Some(tr("Nothing to resend: no delivery has failed.")),
        _ => None,
    }
}

fn of(endpoint_id: &str) -> OfEndpoint {
    OfEndpoint { endpoint_id: endpoint_id.into() }
}

async fn find(member: &Member<'_>, endpoint_id: &str) -> Result<EndpointView> {
    let webhooks = member.ask::<ListWebhooks>(NoInput {}).await?.webhooks;
    let is_it = |webhook: &EndpointView| webhook.endpoint_id.to_string() == endpoint_id;
    webhooks.into_iter().find(is_it).ok_or(Error::WebhookNotFound)
}

fn back(endpoint_id: &str, done: &str) -> Reply {
    Reply::to(format!("{ADDRESS}/{endpoint_id}?done={done}"))
}

#[get("/console/account/deliveries/<endpoint_id>")]
async fn webhook(member: Member<'_>, endpoint_id: &str, query: Query) -> Result<Reply, Refusal> {
    let endpoint = find(&member, endpoint_id).await?;
    let notice = query.get("done").and_then(notice_of);
    let choices = choices_of(&member, &endpoint).await?;
    let shown = Shown { notice, delivery_query: DeliveryQuery::of(&query), wrong: None };
    Ok(webhook_screen(&member, 200, &endpoint, &choices, shown).await?)
}

async fn choices_of(member: &Member<'_>, endpoint: &EndpointView) -> Result<Choices> {
    let EndpointView { url, events, pixels, format, .. } = endpoint;
    Choices::of(member, url, events, pixels, format).await
}

struct Wrong {
    field: &'static str,
    text: Message,
}

#[derive(Default)]
struct Shown {
    notice: Option<Message>,
    delivery_query: DeliveryQuery,
    wrong: Option<Wrong>,
}

impl Shown {
    fn wrong(field: &'static str, text: Message) -> Self {
        Self { wrong: Some(Wrong { field, text }), ..Self::default() }
    }
}

async fn webhook_screen(
    member: &Member<'_>,
    status: u16,
    endpoint: &EndpointView,
    choices: &Choices,
    shown: Shown,
) -> Result<Reply> {
    let Shown { notice, delivery_query, wrong } = shown;
    let endpoint_id = endpoint.endpoint_id.to_string();
    let found = member.ask::<ListDeliveries>(of(&endpoint_id)).await?;
    let deliveries = list(member, endpoint, &found.deliveries, &delivery_query).await?;
    let (role, sites) = (member.member.role, &member.member.sites);
    let content = context! {
        notice,
        row: row(endpoint),
        waiting: Message::Number(found.waiting),
        deliveries,
        may_change: role == Scope::Full && sites.are_all(),
        may_operate: role != Scope::Read && sites.are_all(),
        choices,
        action: format!("{ADDRESS}/{endpoint_id}"),
        button: tr("Save"),
        field: wrong.as_ref().map(|wrong| wrong.field),
        error: wrong.as_ref().filter(|wrong| wrong.field == "url").map(|wrong| &wrong.text),
        problem: wrong.as_ref().filter(|wrong| wrong.field != "url").map(|wrong| &wrong.text),
    };
    Ok(member.screen_with_status(status, WEBHOOK, content))
}

#[post("/console/account/deliveries/<endpoint_id>", data = "<form>")]
async fn change(member: Member<'_>, endpoint_id: &str, form: Form) -> Result<Reply, Refusal> {
    let filled = Filled::of(&form);
    let choices = filled.choices(&member).await?;
    let Filled { url, events, pixels, format } = filled;
    let (url, events) = (Some(url), Some(events));
    let change = EndpointChange {
        url,
        events,
        pixels: Some(pixels),
        format: Some(format),
        ..EndpointChange::default()
    };
    match member.ask::<ChangeWebhook>(OnEndpoint::new(endpoint_id.into(), change)).await {
        Ok(_) => Ok(back(endpoint_id, "changed")),
        Err(error @ Error::Validation(_)) => {
            let endpoint = find(&member, endpoint_id).await?;
            let (status, shown) = (error.status(), Shown::wrong("url", sentence(&error)));
            Ok(webhook_screen(&member, status, &endpoint, &choices, shown).await?)
        }
        Err(error) => Err(error.into()),
    }
}

#[post("/console/account/deliveries/<endpoint_id>/test", data = "<_form>")]
async fn test(member: Member<'_>, endpoint_id: &str, _form: Form) -> Result<Reply, Refusal> {
    let outcome = member.ask::<TestWebhook>(of(endpoint_id)).await?;
    if outcome.state == DeliveryState::Delivered {
        return Ok(back(endpoint_id, "arrived"));
    }
    let text = match (outcome.status, &outcome.failure) {
        (Some(status), _) => {
            tr("The test event was not delivered: the endpoint answered {{ status }}.")
                .with("status", status)
        }
        (None, Some(failure)) => tr("The test event was not delivered: {{ failure }}.")
            .with("failure", failure::in_words(failure)),
        (None, None) => tr("The test event was not delivered."),
    };
    let endpoint = find(&member, endpoint_id).await?;
    let choices = choices_of(&member, &endpoint).await?;
    let shown = Shown::wrong("test", text);
    Ok(webhook_screen(&member, 200, &endpoint, &choices, shown).await?)
}

async fn set_paused(member: &Member<'_>, endpoint_id: &str, paused: bool) -> Result<Reply> {
    let change = EndpointChange { paused: Some(paused), ..EndpointChange::default() };
    member.ask::<ChangeWebhook>(OnEndpoint::new(endpoint_id.into(), change)).await?;
    Ok(back(endpoint_id, if paused { "paused" } else { "resumed" }))
}

#[post("/console/account/deliveries/<endpoint_id>/pause", data = "<_form>")]
async fn pause(member: Member<'_>, endpoint_id: &str, _form: Form) -> Result<Reply, Refusal> {
    Ok(set_paused(&member, endpoint_id, true).await?)
}

#[post("/console/account/deliveries/<endpoint_id>/resume", data = "<_form>")]
async fn resume(member: Member<'_>, endpoint_id: &str, _form: Form) -> Result<Reply, Refusal> {
    Ok(set_paused(&member, endpoint_id, false).await?)
}

#[post("/console/account/deliveries/<endpoint_id>/rotate", data = "<_form>")]
async fn rotate(member: Member<'_>, endpoint_id: &str, _form: Form) -> Result<Reply, Refusal> {
    let made = member.ask::<RotateWebhookSecret>(of(endpoint_id)).await?;
    Ok(secret_screen(&member, 200, &made))
}

#[get("/console/account/deliveries/<endpoint_id>/delete")]
async fn ask_to_delete(member: Member<'_>, endpoint_id: &str) -> Result<Reply, Refusal> {
    let endpoint = find(&member, endpoint_id).await?;
    let screen = Screen {
        template: "console/webhook_delete.html",
        title: tr("Delete endpoint"),
        calls: &["DELETE /v1/webhooks/{endpoint_id}"],
        ..DELIVERIES
    };
    let waiting = member.ask::<ListDeliveries>(of(endpoint_id)).await?.waiting;
    let waiting = Message::Number(waiting);
    Ok(member.screen(screen, context! { row: row(&endpoint), waiting }))
}

#[post("/console/account/deliveries/<endpoint_id>/delete", data = "<_form>")]
async fn delete(member: Member<'_>, endpoint_id: &str, _form: Form) -> Result<Reply, Refusal> {
    member.ask::<DeleteWebhook>(of(endpoint_id)).await?;
    Ok(Reply::to(format!("{ADDRESS}?done=deleted")))
}

#[post("/console/account/deliveries/<endpoint_id>/replay/<event_id>", data = "<_form>")]
async fn replay_one(
    member: Member<'_>,
    endpoint_id: &str,
    event_id: &str,
    _form: Form,
) -> Result<Reply, Refusal> {
    let delivery = OfDelivery { endpoint_id: endpoint_id.into(), event_id: event_id.into() };
    member.ask::<ReplayDelivery>(delivery).await?;
    Ok(back(endpoint_id, "replayed"))
}

/// The value of a `datetime-local` field has no time zone. It is interpreted as UTC, as the screen states.
#[post("/console/account/deliveries/<endpoint_id>/replay", data = "<form>")]
async fn replay(member: Member<'_>, endpoint_id: &str, form: Form) -> Result<Reply, Refusal> {
    let text = form.text("since");
    let since = match text.len() {
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text,
    };
    let since = SinceOfEndpoint { endpoint_id: endpoint_id.into(), since, failed_only: None };
    match member.ask::<ReplayWebhook>(since).await {
        Ok(_) => Ok(back(endpoint_id, "replayed")),
        Err(error @ Error::Validation(_)) => {
            let endpoint = find(&member, endpoint_id).await?;
            let choices = choices_of(&member, &endpoint).await?;
            let shown = Shown::wrong("since", tr("Enter the day and time to start from."));
            Ok(webhook_screen(&member, error.status(), &endpoint, &choices, shown).await?)
        }
        Err(error) => Err(error.into()),
    }
}

const ALWAYS: &str = "1970-01-01T00:00:00Z";

#[post("/console/account/deliveries/<endpoint_id>/replay-failed", data = "<_form>")]
async fn replay_failed(
    member: Member<'_>,
    endpoint_id: &str,
    _form: Form,
) -> Result<Reply, Refusal> {
    let failed = SinceOfEndpoint {
        endpoint_id: endpoint_id.into(),
        since: ALWAYS.to_owned(),
        failed_only: Some(true),
    };
    let replayed = member.ask::<ReplayWebhook>(failed).await?.replayed;
    Ok(back(endpoint_id, if replayed > 0 { "replayed" } else { "none-failed" }))
}
