use rocket::http::Status;
use rocket::response::status::{Custom, NoContent};
use rocket::{delete, get, patch, post};

use crate::accounts::capability::NoInput;
use crate::error::Result;
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::idempotency::Repeatable;
use crate::http::json::Json;
use crate::http::listed::Listed;
use crate::infra::Infra;
use crate::webhooks::delivery::{DeliveryList, DeliveryView, ListDeliveries};
use crate::webhooks::endpoint::{EndpointList, EndpointView, EndpointWithSecret};
use crate::webhooks::endpoints::{
    ChangeWebhook, CreateWebhook, DeleteWebhook, RotateWebhookSecret,
};
use crate::webhooks::input::{EndpointChange, NewEndpoint, OfEndpoint, OnEndpoint};
use crate::webhooks::listing::ListWebhooks;
use crate::webhooks::replay::{
    OfDelivery, ReplayDelivery, ReplayRequest, ReplayWebhook, Replayed, SinceOfEndpoint,
};
use crate::webhooks::trial::TestWebhook;

described_routes![
    create of CreateWebhook: [Body, Infra],
    list of ListWebhooks: [Infra],
    change of ChangeWebhook: [Body, Infra],
    delete of DeleteWebhook: [Infra],
    rotate of RotateWebhookSecret: [Infra],
    test of TestWebhook: [Infra],
    deliveries of ListDeliveries: [Infra],
    replay_one of ReplayDelivery: [Infra],
    replay of ReplayWebhook: [Body, Infra],
];

fn of(endpoint_id: &str) -> OfEndpoint {
    OfEndpoint { endpoint_id: endpoint_id.into() }
}

/// Have a server told what happens
///
/// Deliveries are signed as [standardwebhooks.com](https://www.standardwebhooks.com) says. An account
/// has at most five webhooks.
#[utoipa::path(
    tag = "Webhooks",
    request_body = NewEndpoint,
    responses((status = 201, description = "The webhook, and its secret, shown this once", body = EndpointWithSecret)),
)]
#[post("/v1/webhooks", data = "<body>")]
async fn create(
    call: Call<'_, CreateWebhook>,
    body: Body,
) -> Result<Custom<Json<EndpointWithSecret>>> {
    let created = call.with_body(&body, |new: NewEndpoint| new).await?;
    Ok(Custom(Status::Created, Json(created)))
}

/// List the account's webhooks
///
/// Oldest first, without their secrets.
#[utoipa::path(
    tag = "Webhooks",
    responses((status = 200, description = "The webhooks", body = EndpointList)),
)]
#[get("/v1/webhooks")]
async fn list(call: Call<'_, ListWebhooks>) -> Result<Listed<EndpointList>> {
    call.with(NoInput {}).await.map(Listed)
}

/// Change, pause or resume a webhook
///
/// What is left out stays. While it is paused what happens is kept, for a day at most; resumed, it
/// is sent.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path)),
    request_body = EndpointChange,
    responses((status = 200, description = "The webhook", body = EndpointView)),
)]
#[patch("/v1/webhooks/<endpoint_id>", data = "<body>")]
async fn change(
    call: Call<'_, ChangeWebhook>,
    endpoint_id: &str,
    body: Body,
) -> Result<Json<EndpointView>> {
    call.with_body(&body, |change| OnEndpoint::new(endpoint_id.into(), change)).await.map(Json)
}

/// Delete a webhook
///
/// With what waits for it.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path)),
    responses((status = 204, description = "Deleted")),
)]
#[delete("/v1/webhooks/<endpoint_id>")]
async fn delete(call: Call<'_, DeleteWebhook>, endpoint_id: &str) -> Result<NoContent> {
    call.with(of(endpoint_id)).await.map(|_| NoContent)
}

/// Give a webhook a new secret
///
/// For 24 hours deliveries carry a signature by the secret before as well.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The webhook, and its new secret, shown this once", body = EndpointWithSecret)),
)]
#[post("/v1/webhooks/<endpoint_id>/secret")]
async fn rotate(
    call: Call<'_, RotateWebhookSecret>,
    _once: Repeatable,
    endpoint_id: &str,
) -> Result<Json<EndpointWithSecret>> {
    call.with(of(endpoint_id)).await.map(Json)
}

/// Send a test event
///
/// At once, to a paused webhook too, and not again if it fails. Takes up to 20 seconds.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "What became of it", body = DeliveryView)),
)]
#[post("/v1/webhooks/<endpoint_id>/test")]
async fn test(call: Call<'_, TestWebhook>, endpoint_id: &str) -> Result<Json<DeliveryView>> {
    call.with(of(endpoint_id)).await.map(Json)
}

/// How the last deliveries went
///
/// What was tried last, newest first, at most 50.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The deliveries", body = DeliveryList)),
)]
#[get("/v1/webhooks/<endpoint_id>/deliveries")]
async fn deliveries(
    call: Call<'_, ListDeliveries>,
    endpoint_id: &str,
) -> Result<Listed<DeliveryList>> {
    call.with(of(endpoint_id)).await.map(Listed)
}

/// Send one event again
///
/// Under the same `webhook-id`, and with what is known of it now.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path), ("event_id" = uuid::Uuid, Path)),
    responses((status = 202, description = "It is sent again", body = Replayed)),
)]
#[post("/v1/webhooks/<endpoint_id>/deliveries/<event_id>/replay")]
async fn replay_one(
    call: Call<'_, ReplayDelivery>,
    endpoint_id: &str,
    event_id: &str,
) -> Result<Custom<Json<Replayed>>> {
    let of_delivery = OfDelivery { endpoint_id: endpoint_id.into(), event_id: event_id.into() };
    let replayed = call.with(of_delivery).await?;
    Ok(Custom(Status::Accepted, Json(replayed)))
}

/// Send all again since a moment
///
/// Kept is what has not arrived, for a day, and the last 50 deliveries, also those in vain.
#[utoipa::path(
    tag = "Webhooks",
    params(("endpoint_id" = uuid::Uuid, Path)),
    request_body = ReplayRequest,
    responses((status = 202, description = "They are sent again", body = Replayed)),
)]
#[post("/v1/webhooks/<endpoint_id>/replay", data = "<body>")]
async fn replay(
    call: Call<'_, ReplayWebhook>,
    endpoint_id: &str,
    body: Body,
) -> Result<Custom<Json<Replayed>>> {
    let since = |ReplayRequest { since, failed_only }| {
        let endpoint_id = endpoint_id.into();
        SinceOfEndpoint { endpoint_id, since, failed_only }
    };
    let replayed = call.with_body(&body, since).await?;
    Ok(Custom(Status::Accepted, Json(replayed)))
}
