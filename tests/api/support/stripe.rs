//! A payment provider on a free port that speaks the real one's wire format, and its faults.
//!
//! Form-encoded requests with brackets, idempotency keys, expanded objects, error objects. What
//! people do on its pages (pay, cancel) is done by calling it here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Months, Utc};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::server::start_of_time;

pub const SECRET_KEY: &str = "sk_test_fake_secret_key";
pub const API_VERSION: &str = "2025-03-31.basil";

/// What can go wrong between the service and the provider.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The answer is this status with an error object; the request has no effect.
    Status(u16),
    /// The answer is no JSON.
    Garbage,
    /// The answer is two MiB of JSON.
    Huge,
    /// The answer points to another address.
    Redirect(String),
    /// The connection is closed before the request has an effect.
    Lost,
    /// The request has its effect, and the connection is closed without an answer.
    AnswerLost,
    /// Nothing is ever answered.
    Silent,
    /// The answer begins and never ends.
    Dripping,
    /// The answer comes after this time.
    Slow(Duration),
}

/// A request as the provider received it.
#[derive(Clone, Debug, Default)]
pub struct Received {
    pub method: String,
    /// Without its query.
    pub path: String,
    /// Names in lowercase.
    pub headers: HashMap<String, String>,
    /// Of the query, or of the body.
    pub form: Vec<(String, String)>,
}

impl Received {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

type Form = Vec<(String, String)>;

#[derive(Default)]
struct State {
    objects: HashMap<String, Value>,
    answers_by_key: HashMap<String, (Form, u16, Value)>,
    received: Vec<Received>,
    next_faults: VecDeque<Fault>,
    fault: Option<Fault>,
    older_shape: bool,
    ids: u32,
}

/// The running provider; it ends with the test.
pub struct Provider {
    /// For the service's setting `STRIPE_API_BASE`.
    pub base: String,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What one payment made at the provider.
#[derive(Clone, Debug)]
pub struct Bought {
    pub session: String,
    pub subscription: String,
    pub customer: String,
    pub invoice: String,
}

impl Provider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let serving = tokio::spawn(serve(listener, state.clone()));
        Self { base, state, serving }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test has failed inside")
    }

    /// All requests so far, oldest first.
    pub fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// How many sessions were made.
    pub fn sessions(&self) -> usize {
        self.state().objects.keys().filter(|id| id.starts_with("cs_")).count()
    }

    /// The next requests fail in these ways, one after the other.
    pub fn fail_next(&self, faults: &[Fault]) {
        self.state().next_faults.extend(faults.iter().cloned());
    }

    /// Every request fails in this way, until it is lifted with `None`.
    pub fn fail(&self, fault: Option<Fault>) {
        self.state().fault = fault;
    }

    /// Periods stand on the subscription and invoices name it directly, as before 2025-03-31.
    pub fn use_older_shape(&self) {
        self.state().older_shape = true;
    }

    /// An object as it is now.
    pub fn object(&self, id: &str) -> Value {
        let state = self.state();
        let object = state.objects.get(id).unwrap_or_else(|| panic!("{id} is there"));
        shaped(object.clone(), state.older_shape)
    }

    /// Puts `value` in the place of an object's field.
    pub fn change(&self, id: &str, field: &str, value: Value) {
        self.state().objects.get_mut(id).expect("it is there")[field] = value;
    }

    /// Forgets an object.
    pub fn forget(&self, id: &str) {
        self.state().objects.remove(id);
    }

    /// A person pays on the session's page, at `now`.
    pub fn pay(&self, session: &str, now: DateTime<Utc>) -> Bought {
        let bought = self.complete(session, now);
        self.receive_money(&bought);
        bought
    }

    /// A person goes through with a method whose money comes days later.
    pub fn complete(&self, session: &str, now: DateTime<Utc>) -> Bought {
        let mut state = self.state();
        assert_eq!(state.objects[session]["status"], "open", "one cannot pay twice");
        let metadata = state.objects[session]["subscription_metadata"].clone();
        let bought = Bought {
            session: session.to_owned(),
            subscription: state.new_id("sub_"),
            customer: state.new_id("cus_"),
            invoice: state.new_id("in_"),
        };
        let end = now + Months::new(1);
        let subscription = subscription(&bought, &metadata, now, end);
        let invoice = invoice(&bought.invoice, &bought.subscription, &metadata, now, end);
        state.objects.insert(bought.subscription.clone(), subscription);
        state.objects.insert(bought.invoice.clone(), invoice);
        let session = state.objects.get_mut(session).expect("it is there");
        session["status"] = json!("complete");
        session["url"] = Value::Null;
        session["subscription"] = json!(bought.subscription);
        session["customer"] = json!(bought.customer);
        session["invoice"] = json!(bought.invoice);
        bought
    }

    /// The money of a purchase arrives.
    pub fn receive_money(&self, bought: &Bought) {
        self.change(&bought.session, "payment_status", json!("paid"));
        self.pay_invoice(&bought.invoice);
    }

    /// The next period begins; gives its invoice, which is not paid yet.
    pub fn renew(&self, subscription: &str) -> String {
        let mut state = self.state();
        let invoice_id = state.new_id("in_");
        let object = state.objects.get_mut(subscription).expect("it is there");
        let item = &mut object["items"]["data"][0];
        let start = time(&item["current_period_end"]);
        let end = start + Months::new(1);
        item["current_period_start"] = json!(start.timestamp());
        item["current_period_end"] = json!(end.timestamp());
        object["latest_invoice"] = json!(invoice_id);
        let metadata = object["metadata"].clone();
        let invoice = invoice(&invoice_id, subscription, &metadata, start, end);
        state.objects.insert(invoice_id.clone(), invoice);
        invoice_id
    }

    pub fn pay_invoice(&self, invoice: &str) {
        self.change(invoice, "status", json!("paid"));
    }

    pub fn cancel(&self, subscription: &str) {
        self.change(subscription, "status", json!("canceled"));
    }

    pub fn expire(&self, session: &str) {
        self.change(session, "status", json!("expired"));
        self.change(session, "url", Value::Null);
    }

    /// An event about an object as it is now.
    pub fn event(&self, kind: &str, id: &str) -> Value {
        let object = self.object(id);
        let event_id = self.state().new_id("evt_");
        json!({
            "id": event_id,
            "object": "event",
            "api_version": API_VERSION,
            "created": start_of_time().timestamp(),
            "data": {"object": object},
            "livemode": false,
            "pending_webhooks": 1,
            "request": {"id": null, "idempotency_key": null},
            "type": kind,
        })
    }
}

fn time(seconds: &Value) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds.as_i64().expect("a time"), 0).expect("a time")
}

impl State {
    fn new_id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}1Fake{:08}", self.ids)
    }
}

fn subscription(
    bought: &Bought,
    metadata: &Value,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Value {
    json!({
        "id": bought.subscription,
        "object": "subscription",
        "cancel_at_period_end": false,
        "collection_method": "charge_automatically",
        "currency": "usd",
        "customer": bought.customer,
        "items": {"object": "list", "has_more": false, "data": [{
            "id": format!("si_{}", &bought.subscription[4..]),
            "object": "subscription_item",
            "current_period_start": start.timestamp(),
            "current_period_end": end.timestamp(),
            "quantity": 1,
            "subscription": bought.subscription,
        }]},
        "latest_invoice": bought.invoice,
        "livemode": false,
        "metadata": metadata,
        "status": "active",
    })
}

fn invoice(
    id: &str,
    subscription: &str,
    metadata: &Value,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Value {
    json!({
        "id": id,
        "object": "invoice",
        "amount_due": 100,
        "currency": "usd",
        "lines": {"object": "list", "has_more": false, "data": [{
            "object": "line_item",
            "amount": 100,
            "period": {"start": start.timestamp(), "end": end.timestamp()},
        }]},
        "livemode": false,
        "metadata": {},
        "parent": {
            "quote_details": null,
            "subscription_details": {"metadata": metadata, "subscription": subscription},
            "type": "subscription_details",
        },
        "status": "open",
    })
}

/// The object as the version in use shows it.
fn shaped(mut object: Value, older: bool) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("subscription_metadata");
    }
    if !older {
        return object;
    }
    if object["object"] == "subscription" {
        for field in ["current_period_start", "current_period_end"] {
            let item = object["items"]["data"][0].as_object_mut().expect("an item");
            let value = item.remove(field).expect("a period");
            object[field] = value;
        }
    }
    if object["object"] == "invoice" {
        let details = object["parent"]["subscription_details"].clone();
        object["subscription"] = details["subscription"].clone();
        object["subscription_details"] = json!({"metadata": details["metadata"]});
        object.as_object_mut().expect("an object").remove("parent");
    }
    object
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            // A client that hangs up early is no failure of the provider's.
            let _ = answer(stream, &state).await;
        });
    }
}

async fn answer(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let request = receive(&mut stream).await?;
    let fault = {
        let mut state = state.lock().expect("no request has failed inside");
        state.received.push(request.clone());
        state.next_faults.pop_front().or_else(|| state.fault.clone())
    };
    let handle = || {
        let mut state = state.lock().expect("no request has failed inside");
        handle(&mut state, &request)
    };
    match fault {
        None => {
            let (status, body) = handle();
            send(&mut stream, status, "", body.to_string().as_bytes()).await
        }
        Some(Fault::Slow(time)) => {
            tokio::time::sleep(time).await;
            let (status, body) = handle();
            send(&mut stream, status, "", body.to_string().as_bytes()).await
        }
        Some(Fault::Status(status)) => {
            let body = failure("api_error", "the provider has failed");
            send(&mut stream, status, "", body.to_string().as_bytes()).await
        }
        Some(Fault::Garbage) => send(&mut stream, 200, "", b"<html>Bad gateway</html>").await,
        Some(Fault::Huge) => {
            let filler = "x".repeat(2 << 20);
            let body = json!({"id": "cs_huge", "url": filler}).to_string();
            send(&mut stream, 200, "", body.as_bytes()).await
        }
        Some(Fault::Redirect(target)) => {
            send(&mut stream, 302, &format!("Location: {target}\r\n"), b"{}").await
        }
        Some(Fault::Lost) => Ok(()),
        Some(Fault::AnswerLost) => {
            handle();
            Ok(())
        }
        Some(Fault::Silent) => std::future::pending().await,
        Some(Fault::Dripping) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(b" ").await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn receive(stream: &mut BufReader<TcpStream>) -> std::io::Result<Received> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let mut words = line.split_whitespace();
    let mut request =
        Received { method: words.next().unwrap_or_default().to_owned(), ..Received::default() };
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    request.path = path.to_owned();
    request.form = decode(query.as_bytes());
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    request.form.extend(decode(&body));
    Ok(request)
}

fn decode(form: &[u8]) -> Form {
    url::form_urlencoded::parse(form).into_owned().collect()
}

async fn send(
    stream: &mut BufReader<TcpStream>,
    status: u16,
    headers: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nRequest-Id: req_1Fake\r\n\
         Connection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}

fn failure(kind: &str, message: &str) -> Value {
    json!({"error": {"type": kind, "code": "a_code", "message": message}})
}

fn refusal(message: &str) -> (u16, Value) {
    (400, failure("invalid_request_error", message))
}

/// What the provider answers when nothing goes wrong.
fn handle(state: &mut State, request: &Received) -> (u16, Value) {
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
        ("GET", ["checkout", "sessions", id] | ["subscriptions", id]) => {
            match state.objects.get(*id) {
                Some(object) => (200, expanded(state, object, request)),
                None => (404, failure("invalid_request_error", &format!("No such object: '{id}'"))),
            }
        }
        ("POST", ["checkout", "sessions"]) => once(state, request, new_session),
        ("POST", ["billing_portal", "sessions"]) => once(state, request, new_portal_session),
        _ => (404, failure("invalid_request_error", "Unrecognized request URL")),
    }
}

fn expanded(state: &State, object: &Value, request: &Received) -> Value {
    let mut shown = shaped(object.clone(), state.older_shape);
    for (_, field) in request.form.iter().filter(|(name, _)| name == "expand[]") {
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
