//! A payment provider on a free port that speaks the real one's wire format, and its faults.
//!
//! Form-encoded requests with brackets, idempotency keys, expanded objects, error objects. What
//! people do on its pages (pay, cancel) is done by calling it here.

mod objects;
mod routes;
mod state;
mod wire;

use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, Months, Utc};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use self::objects::{invoice, shaped, subscription};
use self::state::State;
pub use self::state::{API_VERSION, Bought, Fault, Received, SECRET_KEY};
use super::server::start_of_time;

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

impl Provider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let serving = tokio::spawn(wire::serve(listener, state.clone()));
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

    /// Replaces the value of a field of an object.
    pub fn change(&self, id: &str, field: &str, value: Value) {
        self.state().objects.get_mut(id).expect("it is there")[field] = value;
    }

    /// The session turns out to sell this price.
    pub fn sell(&self, session: &str, price: &Value) {
        self.change(session, "lines_sold", routes::line_items(price));
    }

    /// The price that a session sells.
    pub fn sold(&self, session: &str) -> Value {
        self.state().objects[session]["lines_sold"]["data"][0]["price"].clone()
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

    /// An attempt to charge an invoice fails; when the next one follows.
    pub fn fail_payment(&self, invoice: &str, next: Option<DateTime<Utc>>) {
        let mut state = self.state();
        let object = state.objects.get_mut(invoice).expect("it is there");
        let attempts = object["attempt_count"].as_i64().unwrap_or_default();
        object["attempt_count"] = json!(attempts + 1);
        object["attempted"] = json!(true);
        object["next_payment_attempt"] = json!(next.map(|time| time.timestamp()));
        let details = &object["parent"]["subscription_details"];
        let subscription = details["subscription"].as_str().expect("of a subscription").to_owned();
        state.objects.get_mut(&subscription).expect("it is there")["status"] = json!("past_due");
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
