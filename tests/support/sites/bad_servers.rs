//! A customer's server that answers badly in every way, beside that of another tenant, who is notified in
//! time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::Duration as Days;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::https_site::Reply;
use crate::support::story::{Account, Site};
use crate::support::waiting::wait_until;
use crate::support::webhooks::{Hooks, choose};
use crate::support::{App, fresh_address};

const BAD: &str = "slow.example/a";
const GOOD: &str = "other.example/b";
/// For an event of the other tenant; on a busy machine far longer than it takes.
const IN_TIME: Duration = Duration::from_secs(10);

/// Two tenants, of whom one has many events that wait for a bad server.
pub struct BadServers {
    pub hooks: Hooks,
    endpoint: Value,
    bob: Account,
    bobs_shop: Site,
    events: usize,
    /// Events of the other tenant.
    delivered: usize,
}

async fn waiting(app: &App) -> i64 {
    let waiting = "SELECT count(*) FROM webhook_deliveries WHERE next_attempt_at IS NOT NULL";
    sqlx::query_scalar(waiting).fetch_one(&app.pool).await.unwrap()
}

async fn nobody_sends(app: &App) -> bool {
    let claims = "SELECT count(*) FROM webhook_endpoints WHERE claimed_by IS NOT NULL";
    sqlx::query_scalar::<_, i64>(claims).fetch_one(&app.pool).await.unwrap() == 0
}

impl BadServers {
    pub async fn with(events: usize) -> Self {
        let hooks = Hooks::start().await;
        let endpoint = hooks.webhook(BAD, Reply::status(500)).await;
        let bob = hooks.app.mailed_account(&fresh_address("bob")).await;
        let bobs_shop = hooks.app.consent_site(&bob.key, "bob.example").await;
        hooks.site.answer(GOOD, Reply::page("ok"));
        let body = json!({"url": format!("https://{GOOD}")});
        hooks.app.call(Method::POST, "/v1/webhooks", &bob.key, body).await.expect(201);
        let choice = |number| hooks.shop.acceptance(&format!("visitor-{number}"));
        for many in (0..events).map(choice).collect::<Vec<_>>().chunks(100) {
            join_all(many.iter().map(|choice| hooks.app.recorded(choice))).await;
        }
        Self { hooks, endpoint, bob, bobs_shop, events, delivered: 0 }
    }

    /// The server answers in one bad way after the other, those last by which it takes what it is sent.
    pub async fn meet(&mut self) {
        let bad = [
            Reply::status(500),
            Reply::Silence,
            Reply::Dripping,
            Reply::redirect("https://other.example/b"),
            Reply::Raw(b"no HTTP\r\n\r\n"),
            Reply::Whole(500, String::new(), vec![b'x'; 5 << 20]),
            Reply::Stalling("the rest never comes".to_owned()),
            Reply::BreakingOff("half".to_owned()),
            Reply::Endless("x".repeat(1 << 20)),
        ];
        for reply in bad {
            let case = format!("{reply:?}").chars().take(30).collect::<String>();
            self.hooks.site.answer(BAD, reply);
            self.happens().await;
            let asked = self.hooks.sent(BAD).len();
            let is_asked = async || self.hooks.sent(BAD).len() > asked;
            let is_free = async || is_asked().await || nobody_sends(&self.hooks.app).await;
            wait_until(&format!("what was under way is over: {case}"), is_free).await;
            self.hooks.app.clock.advance(Days::hours(1) + Days::minutes(20));
            wait_until(&format!("the bad one is asked: {case}"), is_asked).await;
            self.other_is_served_in_time(&case).await;
        }
        self.leads_to_a_private_address().await;
    }

    async fn happens(&mut self) {
        self.hooks.happen(1).await;
        self.events += 1;
    }

    /// Nothing is connected to, and nothing lost.
    async fn leads_to_a_private_address(&mut self) {
        self.moves_to("https://private.localhost/").await;
        self.happens().await;
        // The attempts in progress have ended.
        tokio::time::sleep(Duration::from_secs(4)).await;
        let before = self.hooks.sent(BAD).len();
        self.hooks.app.clock.advance(Days::minutes(1));
        let is_refused = async || {
            let list = self.hooks.deliveries(&self.endpoint["endpoint_id"]).await;
            let failure = list["deliveries"][0]["failure"].as_str().map(str::to_owned);
            failure.is_some_and(|said| said.contains("public") || said.contains("resolved"))
        };
        wait_until("the address is refused", is_refused).await;
        self.other_is_served_in_time("private").await;
        assert_eq!(self.hooks.sent(BAD).len(), before);
        self.moves_to(&format!("https://{BAD}")).await;
    }

    async fn moves_to(&self, url: &str) {
        let path = format!("/v1/webhooks/{}", self.endpoint["endpoint_id"].as_str().unwrap());
        self.hooks.call(Method::PATCH, &path, json!({"url": url})).await.expect(200);
    }

    async fn other_is_served_in_time(&mut self, case: &str) {
        let begun = Instant::now();
        choose(&self.hooks.app, &self.bobs_shop, 1).await;
        self.delivered += 1;
        let is_delivered = async || self.hooks.sent(GOOD).len() == self.delivered;
        wait_until("the good one receives the event", is_delivered).await;
        assert!(begun.elapsed() < IN_TIME, "{case}: {:?}", begun.elapsed());
        eprintln!("{case}: the other tenant waited {:?}", begun.elapsed());
    }

    /// Once the server is good, every event has arrived, and none twice after it was taken.
    pub async fn become_good(self, timeout: Duration) {
        let Self { hooks, endpoint, bob, events, .. } = self;
        hooks.site.answer(BAD, Reply::page("ok"));
        hooks.app.clock.advance(Days::hours(5));
        let (begun, left) = (Instant::now(), waiting(&hooks.app).await);
        while waiting(&hooks.app).await > 0 {
            assert!(begun.elapsed() < timeout, "{} wait", waiting(&hooks.app).await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        eprintln!("{left} arrived in {:?}, from one pixel one after the other", begun.elapsed());
        assert!(hooks.only().await["failing_since"].is_null());
        let mut copies = BTreeMap::<String, usize>::new();
        for seen in hooks.sent(BAD) {
            *copies.entry(seen.header("webhook-id").to_owned()).or_default() += 1;
        }
        assert_eq!(copies.len(), events, "every event was sent");
        let repeated = copies.values().filter(|count| **count > 1).count();
        assert!(repeated < 40, "only what failed is sent again, not {repeated}");
        // The other tenant has heard of nothing but what is theirs.
        let path = format!("/v1/webhooks/{}/deliveries", endpoint["endpoint_id"].as_str().unwrap());
        let foreign = hooks.app.call(Method::GET, &path, &bob.key, Value::Null).await;
        foreign.refused(404, "webhook not found");
    }
}
