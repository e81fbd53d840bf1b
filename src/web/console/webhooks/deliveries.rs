use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use serde_json::{Value, json};

use crate::accounts::capability::NoInput;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::events::{EventKind, EventSelector, selects};
use crate::infra::templates::{Message, tr};
use crate::pixels::setup::ListPixels;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;
use crate::webhooks::endpoint::{EndpointView, EndpointWithSecret};
use crate::webhooks::endpoints::CreateWebhook;
use crate::webhooks::format::Format;
use crate::webhooks::input::NewEndpoint;
use crate::webhooks::listing::ListWebhooks;

pub fn routes() -> Vec<Route> {
    routes![deliveries, add]
}

pub const LOCATION: NavLocation<'static> = NavLocation::AccountPart("deliveries");
pub const DELIVERIES: Screen<'static> = Screen {
    template: "console/deliveries.html",
    title: tr("Webhooks"),
    location: LOCATION,
    calls: &["GET /v1/webhooks", "POST /v1/webhooks"],
};
pub const ADDRESS: &str = "/console/account/deliveries";
const MOST: usize = 5;

#[derive(Default, Serialize)]
pub struct Choices {
    pub url: String,
    events: Vec<Value>,
    sites: Vec<Value>,
    formats: Vec<Value>,
}

impl Choices {
    pub async fn of(
        member: &Member<'_>,
        url: &str,
        events: &[String],
        pixels: &[String],
        format: &str,
    ) -> Result<Self> {
        let sites = member.ask::<ListPixels>(NoInput {}).await?.pixels;
        let event = |kind: &EventKind| {
            let name = kind.as_str();
            let is_on = events.iter().any(|event| selects(event, *kind));
            json!({"name": name, "title": title(*kind), "is_on": is_on})
        };
        let has = |id: &str| pixels.iter().any(|pixel| pixel == id);
        let sites = sites.iter().map(|site| {
            let id = site.pixel_id.as_str();
            json!({"id": id, "host": site.domain, "is_on": has(id)})
        });
        let formats = Format::ALL.iter().map(|choice| {
            let name = choice.as_str();
            json!({"name": name, "title": format_name(name), "is_on": name == format})
        });
        Ok(Self {
            url: url.to_owned(),
            events: EventKind::ALL.iter().map(event).collect(),
            sites: sites.collect(),
            formats: formats.collect(),
        })
    }
}

fn title(kind: EventKind) -> Message {
    match kind {
        EventKind::ContactCreated => tr("New contact"),
        EventKind::ContactUpdated => tr("Contact seen again"),
        EventKind::ContactWithdrawn => tr("Consent of a contact withdrawn or expired"),
        EventKind::ChoiceRecorded => tr("Choice recorded"),
        EventKind::PolicyPublished => tr("New version of the notice published"),
        EventKind::InstallChanged => tr("Snippet found, missing, or found again"),
        EventKind::AllowanceReached => tr("80% or 100% of the monthly contacts are used"),
        EventKind::ErasureRequested => tr("New erasure request"),
        EventKind::SilenceBroken => tr("A site loads something without consent"),
        EventKind::SilenceRestored => tr("A site no longer loads anything without consent"),
    }
}

pub fn format_name(format: &str) -> Message {
    match Format::parse(format) {
        Some(Format::Slack) => tr("Slack message"),
        Some(Format::Discord) => tr("Discord message"),
        Some(Format::Standard) | None => tr("JSON (signed)"),
    }
}

pub struct Filled {
    pub url: String,
    pub events: Vec<EventSelector>,
    pub pixels: Vec<String>,
    pub format: Format,
}

impl Filled {
    pub fn of(form: &Form) -> Self {
        let is_ticked = |kind: &EventKind| form.get(&format!("event-{}", kind.as_str())).is_some();
        let ticked = EventKind::ALL.iter().copied().filter(is_ticked);
        Self {
            url: form.text("url"),
            events: ticked.filter_map(|kind| EventSelector::parse(kind.as_str())).collect(),
            pixels: form.names_after("site-"),
            format: form.get("format").and_then(Format::parse).unwrap_or(Format::Standard),
        }
    }

    pub async fn choices(&self, member: &Member<'_>) -> Result<Choices> {
        let events = self.events.iter().map(|kind| kind.as_str().to_owned()).collect::<Vec<_>>();
        Choices::of(member, &self.url, &events, &self.pixels, self.format.as_str()).await
    }
}

#[get("/console/account/deliveries")]
async fn deliveries(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let notice = query.get("done").filter(|&done| done == "deleted");
    let notice = notice.map(|_| tr("The endpoint is deleted."));
    let choices = Choices::of(&member, "", &[], &[], Format::Standard.as_str()).await?;
    Ok(list_screen(&member, 200, notice, &choices, None).await?)
}

async fn list_screen(
    member: &Member<'_>,
    status: u16,
    notice: Option<Message>,
    choices: &Choices,
    wrong: Option<&Error>,
) -> Result<Reply> {
    let webhooks = member.ask::<ListWebhooks>(NoInput {}).await?.webhooks;
    let content = context! {
        notice,
        rows: webhooks.iter().map(row).collect::<Vec<_>>(),
        may_change: member.member.role == Scope::Full,
        has_room: webhooks.len() < MOST,
        choices,
        action: ADDRESS,
        button: tr("Add endpoint"),
        error: wrong.map(sentence),
    };
    Ok(member.screen_with_status(status, DELIVERIES, content))
}

pub fn row(endpoint: &EndpointView) -> Value {
    let (kind, state) = state(endpoint);
    json!({
        "id": endpoint.endpoint_id,
        "url": endpoint.url,
        "host": host_of(&endpoint.url),
        "state": state,
        "state_kind": kind,
        "is_well": kind == "sending",
        "is_paused": endpoint.paused_at.is_some(),
        "since": Message::DayOf(endpoint.created_at.0),
        "failing_since": endpoint.failing_since.as_ref().map(|time| Message::Moment(time.0)),
        "old_secret_until": endpoint.previous_secret_until.as_ref().map(|time| Message::Moment(time.0)),
        "form": format_name(&endpoint.format),
        "events": match endpoint.events.len() {
            0 => tr("everything"),
            1 => tr("1 kind of event"),
            many => tr("{{ many }} kinds of events").with("many", many),
        },
    })
}

/// Whether events are sent, as a code for conditions and in words.
fn state(endpoint: &EndpointView) -> (&'static str, Message) {
    match (&endpoint.paused_because, &endpoint.failing_since) {
        (Some(because), _) => match because.as_str() {
            "owner" => ("owner", tr("paused")),
            "gone" => ("gone", tr("paused: the endpoint answered 410 Gone")),
            "secret_lost" => ("secret_lost", tr("paused: rotate the secret")),
            _ => ("failed", tr("paused: it has failed for a day")),
        },
        (None, Some(_)) => ("failing", tr("failing")),
        (None, None) => ("sending", tr("sending")),
    }
}

/// The endpoints that are failing or that the service has paused, but not those that a member has paused.
pub fn failing(endpoints: &[EndpointView]) -> Vec<Value> {
    endpoints.iter().filter(|endpoint| endpoint.is_failing()).map(row).collect()
}

pub fn host_of(url: &str) -> String {
    let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_default()
}

#[post("/console/account/deliveries", data = "<form>")]
async fn add(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let filled = Filled::of(&form);
    let choices = filled.choices(&member).await?;
    let Filled { url, events, pixels, format } = filled;
    let is_signed = format == Format::Standard;
    let format = Some(format);
    let new = NewEndpoint { url, events, pixels, format, signature: None };
    match member.ask::<CreateWebhook>(new).await {
        // Chat services do not verify signatures, so the secret is not shown.
        Ok(made) if !is_signed => {
            let endpoint_id = made.webhook.endpoint_id;
            Ok(Reply::to(format!("{ADDRESS}/{endpoint_id}?done=added")))
        }
        Ok(made) => Ok(secret_screen(&member, 201, &made)),
        Err(error @ (Error::Validation(_) | Error::WebhookAllowanceReached)) => {
            Ok(list_screen(&member, error.status(), None, &choices, Some(&error)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Shows the secret, which is available only once.
pub fn secret_screen(member: &Member<'_>, status: u16, made: &EndpointWithSecret) -> Reply {
    let screen = Screen {
        template: "console/webhook_secret.html",
        title: tr("Signing secret"),
        ..DELIVERIES
    };
    let content = context! { row: row(&made.webhook), secret: &made.secret };
    member.screen_with_status(status, screen, content)
}
