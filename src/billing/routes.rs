//! HTTP routes of billing.

use rocket::{State, get, post};
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
use crate::http::body::{Body, missing_field};
use crate::http::described::described_routes;
use crate::http::headers::IsHead;
use crate::http::html::Page;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::rate_limit::{Checkouts, Limited};
use crate::http::refusals::refusals;
use crate::ids::AccountId;
use crate::pixels::routes::{MethodQuery, OfferedMethod};
use crate::platform::Platform;

described_routes![
    show_caller,
    show_quote,
    open_checkout,
    open_portal,
    success,
    cancelled,
    take_event
];

refusals!(ShowCallerRefusals: [AnyKey, Platform]);

/// Who calls, and what the plan leaves
#[utoipa::path(
    tag = "Accounts",
    operation_id = "whoami",
    security(("api_key" = []), ("x_api_key" = [])),
    responses((status = 200, description = "The account behind the key", body = WhoAmI), ShowCallerRefusals),
)]
#[get("/v1/whoami")]
async fn show_caller(platform: &State<Platform>, caller: AnyKey) -> Result<Json<WhoAmI>> {
    whoami::who_am_i(platform, caller.0).await.map(Json)
}

refusals!(ShowQuoteRefusals: [GoodStanding, OfferedMethod, Platform]);

/// What the present month costs
///
/// Charges nothing.
#[utoipa::path(
    tag = "Billing",
    operation_id = "show_quote",
    security(("api_key" = []), ("x_api_key" = [])),
    params(MethodQuery),
    responses((status = 200, description = "The quote", body = Quote), ShowQuoteRefusals),
)]
#[get("/v1/billing/quote")]
async fn show_quote(
    platform: &State<Platform>,
    caller: GoodStanding,
    _method: OfferedMethod,
) -> Result<Json<Quote>> {
    quote::quote(platform, &caller.0.account).await.map(Json)
}

refusals!(OpenCheckoutRefusals: [Limited<Checkouts>, SignupTokenHeader<'_>, KeyAttempts<'_>, Stripe, Platform]
    InvalidApiKey { status: 401 }, ApiKeyRevoked { status: 401 }, AccountNotFound, AlreadySubscribed);

/// Open the page where a person pays
///
/// Charges nothing by itself. As long as nobody has paid there, it is the same page again.
#[utoipa::path(
    tag = "Billing",
    security(("signup_token" = []), ("api_key" = []), ("x_api_key" = [])),
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The page", body = OpenedCheckout), OpenCheckoutRefusals),
)]
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

refusals!(OpenPortalRefusals: [Limited<Checkouts>, SignupTokenHeader<'_>, KeyAttempts<'_>, Stripe, Platform]
    InvalidApiKey { status: 401 }, ApiKeyRevoked { status: 401 }, AccountNotFound, NoSubscriptionYet);

/// Open the page where a subscription is cancelled
#[utoipa::path(
    tag = "Billing",
    security(("signup_token" = []), ("api_key" = []), ("x_api_key" = [])),
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The page", body = OpenedPortal), OpenPortalRefusals),
)]
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

refusals!(SuccessRefusals: [Limited<Checkouts>, Platform] SessionIdRequired, CheckoutNotConfigured);

/// Where the payment provider sends people after payment
///
/// Integrators do not call it: they ask for the account until it is active.
#[utoipa::path(
    tag = "Billing",
    operation_id = "checkout_success",
    params(("session_id" = String, Query, pattern = "\\S", description = "Put there by the provider.")),
    responses(
        (status = 200, description = "Setup payment received", content_type = "text/html", body = String),
        (status = 402, description = "Not paid", content_type = "text/html", body = String),
        (status = 502, description = "The provider cannot tell", content_type = "text/html", body = String),
        SuccessRefusals,
    ),
)]
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

/// Where the payment provider sends people who turn back
#[utoipa::path(
    tag = "Billing",
    operation_id = "checkout_cancelled",
    responses((status = 200, description = "Nothing was charged", content_type = "text/html", body = String)),
)]
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

refusals!(TakeEventRefusals: [EventBody, Stripe, Platform] InvalidSignature, EventMissingAccount, missing_field("data"));

/// What the payment provider reports
///
/// Not for integrators.
#[utoipa::path(
    tag = "Billing",
    operation_id = "payment_webhook",
    security(("payment_signature" = []), ("stripe_signature" = [])),
    request_body = Event,
    responses((status = 200, description = "Acted on, or ignored", body = EventReceived), TakeEventRefusals),
)]
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
