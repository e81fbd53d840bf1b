use rocket::request::{FromRequest, Outcome};
use rocket::{Request, State, get, post};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::pixels::install_method::{MethodQuery, OfferedMethod};
use crate::accounts::capability::NoInput;
use crate::app::App;
use crate::billing::checkout::{OpenCheckout, OpenedCheckout};
use crate::billing::checkout_return::{Return, complete_checkout};
use crate::billing::payer::PayerRequest;
use crate::billing::portal::{OpenBillingPortal, OpenedPortal};
use crate::billing::quote::{Quote, ShowQuote};
use crate::billing::stripe::Stripe;
use crate::billing::stripe::webhook_events::{self, Event};
use crate::billing::webhook;
use crate::billing::whoami::{ShowCaller, WhoAmI};
use crate::error::{Error, Result, missing_field};
use crate::http::body::Body;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::headers::IsHead;
use crate::http::html::{ACCOUNT, Page};
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::refusals::{Refuses, refusals};
use crate::infra::Infra;
use crate::infra::limits::per_client::{Client, Limit};
use crate::infra::templates::tr;
use crate::types::ids::AccountId;

described_routes![
    show_caller of ShowCaller: [Infra],
    show_quote of ShowQuote: [OfferedMethod, Infra],
    open_checkout of OpenCheckout: [Infra],
    open_billing_portal of OpenBillingPortal: [Infra],
    success,
    cancelled,
    handle_webhook,
];

/// Who calls, and what the plan leaves
#[utoipa::path(
    tag = "Accounts",
    responses((status = 200, description = "The account behind the key", body = WhoAmI)),
)]
#[get("/v1/whoami")]
async fn show_caller(call: Call<'_, ShowCaller>) -> Result<Json<WhoAmI>> {
    call.with(NoInput {}).await.map(Json)
}

/// What the present month costs
///
/// Charges nothing.
#[utoipa::path(
    tag = "Billing",
    params(MethodQuery),
    responses((status = 200, description = "The quote", body = Quote)),
)]
#[get("/v1/billing/quote")]
async fn show_quote(call: Call<'_, ShowQuote>, _method: OfferedMethod) -> Result<Json<Quote>> {
    call.with(NoInput {}).await.map(Json)
}

/// Open the page where a person pays
///
/// Charges nothing by itself. As long as nobody has paid there, it is the same page again.
#[utoipa::path(
    tag = "Billing",
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The page", body = OpenedCheckout)),
)]
#[post("/v1/accounts/<account_id>/checkout")]
async fn open_checkout(
    call: Call<'_, OpenCheckout>,
    account_id: &str,
) -> Result<Json<OpenedCheckout>> {
    call.with(PayerRequest { account_id: account_id.into() }).await.map(Json)
}

/// Open the page where a subscription is cancelled
#[utoipa::path(
    tag = "Billing",
    params(("account_id" = AccountId, Path)),
    responses((status = 200, description = "The page", body = OpenedPortal)),
)]
#[post("/v1/accounts/<account_id>/portal")]
async fn open_billing_portal(
    call: Call<'_, OpenBillingPortal>,
    account_id: &str,
) -> Result<Json<OpenedPortal>> {
    call.with(PayerRequest { account_id: account_id.into() }).await.map(Json)
}

refusals!(SuccessRefusals: [Infra] SessionIdRequired, CheckoutNotConfigured, TooManyRequests { retry_after: 20 });

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
async fn success(app: &State<App>, client: Client<'_>, query: Query, head: IsHead) -> Result<Page> {
    client.admit(Limit::Checkouts)?;
    // Mail scanners and link previews send HEAD requests, which do not mean that a person has returned from paying.
    let settle = !head.0;
    Ok(match complete_checkout(&app.billing, query.get("session_id"), settle).await? {
        Return::Paid => paid_page(),
        Return::NotPaid => not_paid_page(),
        Return::Unknown => unknown_page(),
        Return::Unanswered => unanswered_page(),
    })
}

fn paid_page() -> Page {
    let sentences = [
        tr("The subscription is active. Thank you."),
        tr("You can close this page and go back to where you came from."),
    ];
    Page::message_with_step(200, "ok", tr("Setup payment received"), &sentences, ACCOUNT)
}

fn not_paid_page() -> Page {
    let sentences = [
        tr("The payment provider has not received a payment for this checkout yet."),
        tr(
            "If you have just paid by a slower method, the account is subscribed as soon as the money arrives. Otherwise open checkout again.",
        ),
    ];
    Page::message_with_step(402, "problem", tr("Payment not received"), &sentences, ACCOUNT)
}

fn unknown_page() -> Page {
    let sentences = [
        tr("The payment provider has no such checkout for an account of this service."),
        tr("Please follow the link from the provider's own page, or open checkout again."),
    ];
    Page::message_with_step(
        502,
        "problem",
        tr("Checkout could not be finished"),
        &sentences,
        ACCOUNT,
    )
}

fn unanswered_page() -> Page {
    let sentences = [
        tr("The payment provider did not answer, so we could not see whether you have paid."),
        tr(
            "Nothing is lost: reload this page in a minute. A payment that was made is also noticed without it.",
        ),
    ];
    Page::message_with_step(
        502,
        "problem",
        tr("Checkout could not be finished"),
        &sentences,
        ACCOUNT,
    )
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
        tr("Nothing was charged and no subscription was started."),
        tr("Checkout can be opened again at any time."),
    ];
    Page::message_with_step(200, "calm", tr("Checkout cancelled"), &sentences, ACCOUNT)
}

/// The event was acted on, or means nothing here.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct EventReceived {
    /// Always true.
    pub received: bool,
}

/// Events have a few KiB; an invoice with many lines has more.
type EventBody = Body<1024>;

/// The signature header, under the provider's own name or else under the neutral one.
struct SignatureHeader<'r>(Option<&'r str>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for SignatureHeader<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let headers = request.headers();
        let header = headers.get_one("Stripe-Signature");
        Outcome::Success(Self(header.or_else(|| headers.get_one("payment-signature"))))
    }
}

impl Refuses for Stripe {
    fn refusals() -> Vec<Error> {
        Self::refusals()
    }
}

refusals!(HandleWebhookRefusals: [EventBody, Stripe, Infra] InvalidSignature, EventMissingAccount, missing_field("data"));

/// What the payment provider reports
///
/// Not for integrators.
#[utoipa::path(
    tag = "Billing",
    operation_id = "payment_webhook",
    security(("payment_signature" = []), ("stripe_signature" = [])),
    request_body = Event,
    responses((status = 200, description = "Acted on, or ignored", body = EventReceived), HandleWebhookRefusals),
)]
#[post("/v1/stripe/webhook", data = "<body>")]
async fn handle_webhook(
    app: &State<App>,
    signature: SignatureHeader<'_>,
    body: EventBody,
) -> Result<Json<EventReceived>> {
    webhook::check_signature(&app.infra.clock, &app.infra.config, signature.0, &body.0)?;
    if !webhook_events::is_ignored(&body.0) {
        webhook::handle_webhook(&app.billing, body.validated::<Event>()?).await?;
    }
    Ok(Json(EventReceived { received: true }))
}
