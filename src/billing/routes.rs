//! HTTP routes of billing.

use rocket::{Route, State, get, post, routes};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::checkout::{self, OpenedCheckout, Return};
use super::payer::identify_payer;
use super::portal::{self, OpenedPortal};
use super::quote::{self, Quote};
use super::signature::{self, SignatureHeader};
use super::stripe::Stripe;
use super::webhook;
use super::webhook_events::Event;
use super::whoami::{self, WhoAmI};
use crate::accounts::guards::{AnyKey, GoodStanding, PresentedKey, SignupTokenHeader};
use crate::accounts::key_attempts::KeyAttempts;
use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::http::headers::IsHead;
use crate::http::html::Page;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::rate_limit::{Checkouts, Limited};
use crate::pixels::routes::OfferedMethod;
use crate::platform::Platform;

pub fn routes() -> Vec<Route> {
    routes![show_caller, show_quote, open_checkout, open_portal, success, cancelled, take_event]
}

#[get("/v1/whoami")]
async fn show_caller(platform: &State<Platform>, caller: AnyKey) -> Result<Json<WhoAmI>> {
    whoami::who_am_i(platform, caller.0).await.map(Json)
}

#[get("/v1/billing/quote")]
async fn show_quote(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<Quote>> {
    quote::quote(platform, &caller.0.account).await.map(Json)
}

#[post("/v1/accounts/<account_id>/checkout")]
async fn open_checkout(
    platform: &State<Platform>,
    _limited: Limited<Checkouts>,
    attempts: KeyAttempts<'_>,
    stripe: &State<Stripe>,
    account_id: &str,
    token: SignupTokenHeader<'_>,
    key: PresentedKey<'_>,
) -> Result<Json<OpenedCheckout>> {
    let payer = identify_payer(platform, account_id, token.0, key.key);
    let account = attempts.watch(key.key, payer).await?;
    checkout::open_checkout(platform, stripe, &account.account_id).await.map(Json)
}

#[post("/v1/accounts/<account_id>/portal")]
async fn open_portal(
    platform: &State<Platform>,
    _limited: Limited<Checkouts>,
    attempts: KeyAttempts<'_>,
    stripe: &State<Stripe>,
    account_id: &str,
    token: SignupTokenHeader<'_>,
    key: PresentedKey<'_>,
) -> Result<Json<OpenedPortal>> {
    let payer = identify_payer(platform, account_id, token.0, key.key);
    let account = attempts.watch(key.key, payer).await?;
    portal::open_portal(platform, stripe, &account.account_id).await.map(Json)
}

/// Where the provider sends people after payment, so what went wrong is told on a page.
#[get("/v1/checkout/success")]
async fn success(
    platform: &State<Platform>,
    _limited: Limited<Checkouts>,
    stripe: &State<Stripe>,
    query: Query,
    head: IsHead,
) -> Result<Page> {
    let session_id = query.present("session_id").ok_or(Error::SessionIdRequired)?;
    if !stripe.is_configured() {
        return Err(Error::CheckoutNotConfigured);
    }
    match checkout::come_back(platform, stripe, session_id, !head.0).await {
        Ok(Return::Paid) => Ok(paid_page()),
        Ok(Return::NotPaid) => Ok(not_paid_page()),
        Ok(Return::Unknown) => Ok(unknown_page()),
        Err(Error::PaymentProvider { .. }) => Ok(unfinished_page()),
        Err(other) => Err(other),
    }
}

fn paid_page() -> Page {
    let sentences = [
        "The subscription is active. Thank you.",
        "You can close this page and go back to where you came from.",
    ];
    Page::message(200, "ok", "Setup payment received", &sentences)
}

fn not_paid_page() -> Page {
    let sentences = [
        "The payment provider has not received a payment for this checkout yet.",
        "If you have just paid by a slower method, the account is subscribed as soon as the money arrives. Otherwise open checkout again.",
    ];
    Page::message(402, "problem", "Payment not received", &sentences)
}

fn unknown_page() -> Page {
    let sentences = [
        "The payment provider has no such checkout for an account of this service.",
        "Please follow the link from the provider's own page, or open checkout again.",
    ];
    Page::message(502, "problem", "Checkout could not be finished", &sentences)
}

fn unfinished_page() -> Page {
    let sentences = [
        "The payment provider did not answer, so we could not see whether you have paid.",
        "Nothing is lost: reload this page in a minute. A payment that was made is also noticed without it.",
    ];
    Page::message(502, "problem", "Checkout could not be finished", &sentences)
}

#[get("/v1/checkout/cancelled")]
fn cancelled() -> Page {
    let sentences = [
        "Nothing was charged and no subscription was started.",
        "Checkout can be opened again at any time.",
    ];
    Page::message(200, "ok", "Checkout cancelled", &sentences)
}

/// The event was acted on, or means nothing here.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct EventReceived {
    /// Always true.
    pub received: bool,
}

/// Events have a few KiB; an invoice with many lines has more.
type EventBody = Body<1024>;

#[post("/v1/stripe/webhook", data = "<body>")]
async fn take_event(
    platform: &State<Platform>,
    stripe: &State<Stripe>,
    header: SignatureHeader<'_>,
    body: EventBody,
) -> Result<Json<EventReceived>> {
    let secret = platform.config.stripe.webhook_secret.as_ref();
    let (header, secret) = header.0.zip(secret).ok_or(Error::InvalidSignature)?;
    if !signature::is_genuine(header, &body.0, secret, platform.clock.now()) {
        return Err(Error::InvalidSignature);
    }
    webhook::take_event(platform, stripe, body.validated::<Event>()?).await?;
    Ok(Json(EventReceived { received: true }))
}
