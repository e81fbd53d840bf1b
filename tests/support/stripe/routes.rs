//! Answers of the fake provider to valid and invalid requests.

use serde_json::{Value, json};

use super::objects::shaped;
use super::state::{API_VERSION, Received, SECRET_KEY, State};
use crate::support::server::start_of_time;

pub fn handle(state: &mut State, request: &Received) -> (u16, Value) {
    let key = format!("Bearer {SECRET_KEY}");
    if request.header("authorization") != Some(&key) {
        let message = "Invalid API Key provided: sk_test_****";
        return (401, failure("invalid_request_error", message));
    }
    if request.header("stripe-version") != Some(API_VERSION) {
        return refusal("Invalid Stripe API version");
    }
    let path = request.path.strip_prefix("/v1/").unwrap_or_default();
    match (request.method.as_str(), path.split('/').collect::<Vec<_>>().as_slice()) {
        ("GET", ["checkout", "sessions", id] | ["subscriptions" | "invoices", id]) => {
            match state.objects.get(*id) {
                Some(object) => (200, expanded(state, object, request)),
                None => (404, failure("invalid_request_error", &format!("No such object: '{id}'"))),
            }
        }
        ("DELETE", ["subscriptions", id]) => match state.objects.get_mut(*id) {
            Some(subscription) if subscription["status"] != "canceled" => {
                subscription["status"] = json!("canceled");
                let subscription = subscription.clone();
                (200, shaped(subscription, state.older_shape))
            }
            _ => (404, failure("invalid_request_error", &format!("No such subscription: '{id}'"))),
        },
        ("POST", ["checkout", "sessions"]) => once(state, request, new_session),
        ("POST", ["billing_portal", "sessions"]) => once(state, request, new_portal_session),
        _ => (404, failure("invalid_request_error", "Unrecognized request URL")),
    }
}

fn expanded(state: &State, object: &Value, request: &Received) -> Value {
    let mut shown = shaped(object.clone(), state.older_shape);
    for (_, field) in request.form.iter().filter(|(name, _)| name == "expand[]") {
        if field == "line_items" {
            shown[field] = object["lines_sold"].clone();
            continue;
        }
        let id = shown[field].as_str().unwrap_or_default();
        if let Some(inner) = state.objects.get(id) {
            shown[field] = shaped(inner.clone(), state.older_shape);
        }
    }
    shown
}

/// Answers a key that was used before as before.
fn once(
    state: &mut State,
    request: &Received,
    make: impl FnOnce(&mut State, &Received) -> (u16, Value),
) -> (u16, Value) {
    if request.header("content-type") != Some("application/x-www-form-urlencoded") {
        return refusal("Invalid request body");
    }
    let Some(key) = request.header("idempotency-key") else { return make(state, request) };
    if let Some((form, status, answer)) = state.answers_by_key.get(key) {
        if *form != request.form {
            let message = "Keys for idempotent requests can only be used with the same parameters";
            return (400, failure("idempotency_error", message));
        }
        return (*status, answer.clone());
    }
    let (status, answer) = make(state, request);
    let remembered = (request.form.clone(), status, answer.clone());
    state.answers_by_key.insert(key.to_owned(), remembered);
    (status, answer)
}

const SESSION_FIELDS: [&str; 12] = [
    "mode",
    "client_reference_id",
    "metadata[account_id]",
    "subscription_data[metadata][account_id]",
    "success_url",
    "cancel_url",
    "line_items[0][quantity]",
    "line_items[0][price]",
    "line_items[0][price_data][currency]",
    "line_items[0][price_data][unit_amount]",
    "line_items[0][price_data][recurring][interval]",
    "line_items[0][price_data][product_data][name]",
];

fn new_session(state: &mut State, request: &Received) -> (u16, Value) {
    if let Some((name, _)) =
        request.form.iter().find(|(name, _)| !SESSION_FIELDS.contains(&name.as_str()))
    {
        return refusal(&format!("Received unknown parameter: {name}"));
    }
    let has_price = request.field("line_items[0][price]").is_some();
    let has_inline_price = SESSION_FIELDS[8..].iter().all(|name| request.field(name).is_some());
    if request.field("mode") != Some("subscription") || has_price == has_inline_price {
        return refusal("Missing required param");
    }
    let is_address = |name| request.field(name).is_some_and(|text| url::Url::parse(text).is_ok());
    if !is_address("success_url") || !is_address("cancel_url") {
        return refusal("Not a valid URL");
    }
    let id = state.new_id("cs_test_");
    let session = json!({
        "id": id,
        "object": "checkout.session",
        "amount_total": 100,
        "cancel_url": request.field("cancel_url"),
        "client_reference_id": request.field("client_reference_id"),
        "created": start_of_time().timestamp(),
        "currency": "usd",
        "customer": null,
        "expires_at": start_of_time().timestamp() + 86_400,
        "invoice": null,
        "lines_sold": lines_sold(request),
        "livemode": false,
        "metadata": {"account_id": request.field("metadata[account_id]")},
        "mode": "subscription",
        "payment_status": "unpaid",
        "status": "open",
        "subscription": null,
        "subscription_metadata":
            {"account_id": request.field("subscription_data[metadata][account_id]")},
        "success_url": request.field("success_url"),
        "url": format!("https://checkout.example/c/pay/{id}"),
    });
    state.objects.insert(id, session.clone());
    (200, shaped(session, state.older_shape))
}

/// The items of a session, which its own object shows only if `line_items` are requested.
fn lines_sold(request: &Received) -> Value {
    let inline = |name: &str| request.field(&format!("line_items[0][price_data]{name}"));
    let cents = inline("[unit_amount]").and_then(|cents| cents.parse::<i64>().ok());
    line_items(&json!({
        "id": request.field("line_items[0][price]").unwrap_or("price_1FakeInline"),
        "object": "price",
        "currency": inline("[currency]").unwrap_or("usd"),
        "recurring": {"interval": inline("[recurring][interval]").unwrap_or("month"), "interval_count": 1},
        "type": "recurring",
        "unit_amount": cents.unwrap_or(250),
    }))
}

/// The list of one item of a price.
pub fn line_items(price: &Value) -> Value {
    let item = json!({"id": "li_1Fake", "object": "item", "price": price, "quantity": 1});
    json!({"object": "list", "has_more": false, "data": [item]})
}

fn new_portal_session(state: &mut State, request: &Received) -> (u16, Value) {
    let customer = request.field("customer").unwrap_or_default();
    let is_known = state.objects.values().any(|object| object["customer"] == customer);
    if !is_known {
        return refusal(&format!("No such customer: '{customer}'"));
    }
    let id = state.new_id("bps_");
    let session = json!({
        "id": id,
        "object": "billing_portal.session",
        "customer": customer,
        "livemode": false,
        "return_url": request.field("return_url"),
        "url": format!("https://billing.example/p/session/{id}?customer={customer}"),
    });
    (200, session)
}

pub fn failure(kind: &str, message: &str) -> Value {
    json!({"error": {"type": kind, "code": "a_code", "message": message}})
}

fn refusal(message: &str) -> (u16, Value) {
    (400, failure("invalid_request_error", message))
}
