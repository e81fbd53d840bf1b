//! Events are written where they happen; their bodies are made from the present data.

use std::sync::Arc;

use assent::clock::Clock;
use assent::infra::Infra;
use assent::infra::changes::Invalidation;
use assent::types::ids::AccountId;
use assent::webhooks::event_payload::{self, StoredEvent};
use chrono::{DateTime, Duration, Utc};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::support::contacts::{bound, hem, person};
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::{Settings, start_of_time};
use crate::support::sites::https_site::{HttpsSite, Reply, Seen, ca_file};
use crate::support::sites::install::check;
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::waiting::wait_until;
use crate::support::webhooks::Hooks;
use crate::support::{Account, App, Process};

/// A shop whose owner has an endpoint for everything, and another account that has one too.
struct Scene {
    app: App,
    infra: Infra,
    ann: Account,
    site: Site,
}

const HOST: &str = "ann.example";

impl Scene {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    async fn with(settings: Settings<'_>) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        let clock = assent::clock::Clock::manual(start_of_time());
        let mut infra = None;
        let tune = |made: &mut Infra| infra = Some(made.clone());
        let app = App::spawn_tuned(database, clock, settings, tune).await;
        let infra = infra.expect("it was tuned");
        let ann = app.account("ann@example.com").await;
        let site = app.consent_site(&ann.key, HOST).await;
        let scene = Self { app, infra, ann, site };
        let bob = scene.app.account("bob@example.com").await;
        scene.app.consent_site(&bob.key, "bob.example").await;
        for owner in [scene.ann.clone(), bob] {
            scene.add_endpoint(&owner).await;
        }
        scene
    }

    async fn add_endpoint(&self, owner: &Account) {
        let account_id = AccountId::from(owner.account_id.clone());
        let mut transaction = self.infra.pool.begin().await.unwrap();
        query(
            "INSERT INTO webhook_endpoints (endpoint_id, account_id, url, format, secret,
                 created_at)
             VALUES ($1, $2, 'https://hooks.example/', 'standard', '', $3)",
        )
        .bind(Uuid::now_v7())
        .bind(account_id.as_str())
        .bind(start_of_time())
        .execute(&mut *transaction)
        .await
        .unwrap();
        self.infra
            .changes
            .commit(transaction, &Invalidation::of_account(&account_id))
            .await
            .unwrap();
    }

    /// The events that wait for the account's endpoint, as they would be sent now; null for those that
    /// would not be sent.
    async fn waiting_for(&self, owner: &Account) -> Vec<Value> {
        let rows = "SELECT kind, pixel_id, subject, occurred_at FROM webhook_deliveries
            JOIN webhook_endpoints USING (endpoint_id) WHERE account_id = $1 ORDER BY seq";
        let rows = query_as::<_, (String, String, Value, DateTime<Utc>)>(rows)
            .bind(&owner.account_id)
            .fetch_all(&self.infra.pool)
            .await
            .unwrap();
        let happened = rows.into_iter().map(|(kind, partition_key, subject, occurred_at)| {
            StoredEvent { kind: kind.into(), partition_key, subject, occurred_at }
        });
        let happened = happened.collect::<Vec<_>>();
        let payloads = event_payload::of(&self.infra, &happened).await.unwrap();
        let bodies = happened.iter().zip(payloads).map(|(happened, payload)| {
            let time = assent::clock::rfc3339(happened.occurred_at);
            payload.map_or(
                Value::Null,
                |data| json!({"type": happened.kind, "timestamp": time, "data": data}),
            )
        });
        bodies.collect()
    }

    async fn waiting(&self) -> Vec<Value> {
        self.waiting_for(&self.ann).await
    }

    /// The kinds of what waits, in order; what would not be sent is left out.
    async fn kinds(&self) -> Vec<String> {
        let waiting = self.waiting().await.into_iter().filter(|body| !body.is_null());
        waiting.map(|body| body["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until so many events wait for the endpoint.
    async fn until(&self, many: usize) -> Vec<Value> {
        for _ in 0..600 {
            let waiting = self.waiting().await;
            if waiting.len() >= many {
                return waiting;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("{:?}", self.waiting().await);
    }

    async fn read(&self, path: &str) -> Value {
        self.app.call(Method::GET, path, &self.ann.key, Value::Null).await.expect(200)
    }

    /// The answer of the API at the address that a body names.
    async fn behind(&self, body: &Value) -> Value {
        let url = body["data"]["url"].as_str().unwrap();
        self.read(url.strip_prefix(self.infra.base_url()).expect(url)).await
    }

    async fn store(&self, items: Value) {
        self.app.store(&self.ann.key, &self.site.pixel_id, items).await.expect(200);
    }
}

#[tokio::test]
async fn a_choice_is_sent_as_the_log_shows_it_and_a_repeated_one_once() {
    let scene = Scene::new().await;
    let choice_id = "6d5c4b3a-0001-4000-8000-000000000001";
    let shown = json!({"language": "en", "act": "page", "seen": null, "automated": true});
    let choice = with(&scene.site.acceptance("v1"), "shown", shown);
    let choice = with(&choice, "choice_id", json!(choice_id));
    let recorded = scene.app.recorded(&choice).await;
    scene.app.recorded(&choice).await;
    scene.app.recorded(&scene.site.refusal("v1", "withdrawn")).await;
    let waiting = scene.waiting().await;
    assert_eq!(scene.kinds().await, ["choice.recorded", "choice.recorded"]);
    let first = &waiting[0];
    assert_eq!(first["timestamp"], recorded["receipt"]["recorded_at"]);
    assert_eq!(first["data"]["receipt"], recorded["receipt"]);
    assert_eq!(first["data"]["domain"], HOST);
    let log = scene.behind(first).await;
    for field in ["receipt", "signature", "signature_alg", "shown"] {
        assert_eq!(first["data"][field], log["events"][0][field], "{field}");
    }
    let shown = &first["data"]["shown"];
    assert_eq!((&shown["act"], &shown["automated"]), (&json!("page"), &json!(true)));
    assert_eq!(waiting[1]["data"]["receipt"]["consent_state"], "withdrawn");
    let (receipt, signature) = (&first["data"]["receipt"], &first["data"]["signature"]);
    assert!(scene.app.verifies(receipt, signature.as_str().unwrap()).await);
}

#[tokio::test]
async fn choices_of_many_visitors_at_once_are_all_sent_in_their_order() {
    let scene = Scene::new().await;
    let visitors = (0..50).map(|number| format!("v{number}")).collect::<Vec<_>>();
    let choices = visitors.iter().map(|visitor| {
        let choice = scene.site.acceptance(visitor);
        let app = &scene.app;
        async move { app.recorded(&choice).await }
    });
    futures_util::future::join_all(choices).await;
    let order = |events: &[Value]| {
        let ids = events.iter().map(|event| event["receipt"]["receipt_id"].clone());
        ids.collect::<Vec<_>>()
    };
    let waiting = scene.waiting().await.iter().map(|body| body["data"].clone()).collect::<Vec<_>>();
    let mut log = scene.app.log(&scene.ann.key, &scene.site.pixel_id).await;
    log.reverse();
    assert_eq!(order(&waiting), order(&log));
}

#[tokio::test]
async fn a_person_is_sent_as_the_cursor_shows_them_and_after_a_withdrawal_only_by_number() {
    let scene = Scene::new().await;
    scene.app.recorded(&scene.site.acceptance("v1")).await;
    scene.store(json!([person(1), bound(2, "v1")])).await;
    scene.store(json!([bound(2, "v1")])).await;
    let stored = ["contact.created", "contact.created", "contact.updated"];
    assert_eq!(scene.kinds().await[1..], stored);
    for body in &scene.waiting().await[1..] {
        assert_eq!(body["data"]["contact"], scene.behind(body).await["contacts"][0]);
    }
    assert_eq!(scene.waiting().await[2]["data"]["contact"]["consent"]["permitted"], true);

    scene.app.recorded(&scene.site.refusal("v1", "withdrawn")).await;
    let waiting = scene.until(6).await;
    let hidden = waiting.iter().filter(|body| body.is_null()).count();
    assert_eq!(hidden, 2, "what was stored with the consent is not sent any more");
    let withdrawn = &waiting[5];
    assert_eq!(withdrawn["type"], "contact.withdrawn");
    let contact = &withdrawn["data"]["contact"];
    assert_eq!(contact["hem"], hem(2));
    assert_eq!(*contact, scene.behind(withdrawn).await["withdrawn"][0]);
    assert_eq!(contact.as_object().unwrap().len(), 3, "id, hem and time: {contact}");
    assert!(!waiting.iter().any(|body| body.to_string().contains("\"number\":2")));
}

#[tokio::test]
async fn suppressed_and_erased_people_are_in_no_body() {
    let scene = Scene::new().await;
    scene.store(json!([person(1), person(2)])).await;
    scene.app.recorded(&scene.site.acceptance("v1")).await;
    assert_eq!(scene.kinds().await.len(), 3);
    let path = format!("/v1/suppressions/{}", hem(1));
    scene.app.call(Method::PUT, &path, &scene.ann.key, Value::Null).await.expect(204);
    let path = format!("/v1/pixels/{}/visitors/v1", scene.site.pixel_id);
    scene.app.call(Method::DELETE, &path, &scene.ann.key, Value::Null).await.expect(200);
    assert_eq!(scene.kinds().await, ["contact.created"]);
    scene.store(json!([person(1)])).await;
    let waiting = scene.waiting().await;
    assert_eq!(scene.kinds().await, ["contact.created"]);
    assert!(!waiting.iter().any(|body| body.to_string().contains(&hem(1))), "{waiting:?}");
}

#[tokio::test]
async fn a_published_policy_is_sent_once_and_never_to_another_account() {
    let scene = Scene::new().await;
    let published = scene.app.reconfigured(&scene.ann.key, &scene.site, "Ann & Co").await;
    scene.app.reconfigured(&scene.ann.key, &scene.site, "Ann & Co").await;
    let waiting = scene.waiting().await;
    assert_eq!(scene.kinds().await, ["policy.published"]);
    let policy = &waiting[0]["data"]["policy"];
    assert_eq!(policy["policy_hash"], published["policy_hash"]);
    assert_eq!(*policy, scene.behind(&waiting[0]).await["versions"][0]);
    let rows = "SELECT count(*) FROM webhook_deliveries";
    let rows = sqlx::query_scalar::<_, i64>(rows).fetch_one(&scene.infra.pool).await.unwrap();
    assert_eq!(rows, 1, "nothing for the other account's endpoint");
}

#[tokio::test]
async fn a_tag_that_comes_goes_and_comes_back_is_reported_each_time() {
    let site = HttpsSite::start(&[HOST]).await;
    let resolve = site.resolve(&[HOST]);
    let settings =
        [("INSTALL_CHECK_RESOLVE", resolve.as_str()), ("INSTALL_CHECK_CA_FILE", ca_file())];
    let scene = Scene::with(&settings).await;
    let home = format!("{HOST}/");
    let page = format!("<script data-pixel=\"{}\"></script>", scene.site.pixel_id);
    for shown in [&*page, &page, "nothing", "nothing", &page] {
        site.answer(&home, Reply::page(shown));
        scene.app.clock.advance(Duration::minutes(1));
        check(&scene.app, &scene.ann.key, &scene.site.pixel_id).await.expect(200);
    }
    let waiting = scene.waiting().await;
    let changes = waiting.iter().map(|body| body["data"]["change"].clone()).collect::<Vec<_>>();
    assert_eq!(changes, ["installed", "vanished", "back"]);
    assert_eq!(waiting[2]["data"]["install"], scene.behind(&waiting[2]).await);
}

#[tokio::test]
async fn an_allowance_is_reported_at_eighty_and_at_a_hundred_percent_and_once_each() {
    let scene = Scene::new().await;
    let reached = async || {
        let waiting = scene.waiting().await.into_iter();
        waiting.filter(|body| body["type"] == "allowance.reached").collect::<Vec<_>>()
    };
    for end in [399, 400, 401, 499, 500] {
        let start = if end == 399 { 0 } else { end - 1 };
        let items = (start..end).map(person).collect();
        let stored = scene.app.store(&scene.ann.key, &scene.site.pixel_id, items).await;
        stored.expect(200);
        let count = reached().await.len();
        assert_eq!(count, usize::from(end >= 400) + usize::from(end >= 500), "{end}");
        if end == 401 {
            // On to the last but one at once.
            let items = (401..498).map(person).collect();
            scene.app.store(&scene.ann.key, &scene.site.pixel_id, items).await.expect(200);
        }
    }
    let reached = reached().await;
    let percent = reached.iter().map(|body| body["data"]["percent"].clone()).collect::<Vec<_>>();
    assert_eq!(percent, [80, 100]);
    assert_eq!(reached[1]["data"]["account_id"], scene.ann.account_id);
    assert_eq!(reached[1]["data"]["allowance"]["contacts_used"], 500);
    assert_eq!(reached[1]["data"]["allowance"], scene.behind(&reached[1]).await["allowance"]);
}

#[tokio::test]
async fn a_visitor_who_asks_to_be_erased_is_reported_once() {
    let scene = Scene::new().await;
    scene.app.recorded(&scene.site.acceptance("v1")).await;
    let request = json!({"pixel_id": scene.site.pixel_id, "visitor_id": "v1"});
    for request in [&request, &request, &with(&request, "visitor_id", json!("nobody"))] {
        scene.app.post("/v1/consent/erasure-requests", request.clone()).await.expect(202);
    }
    assert_eq!(scene.kinds().await, ["choice.recorded", "erasure.requested"]);
    let waiting = scene.waiting().await;
    assert_eq!(waiting[1]["data"]["request"], scene.behind(&waiting[1]).await["requests"][0]);
    let days = Duration::days(30);
    let due = assent::clock::rfc3339(scene.app.clock.now() + days);
    assert_eq!(waiting[1]["data"]["request"]["due_at"], due);
}

/// A choice is durable together with its event.
#[tokio::test]
async fn a_confirmed_choice_is_sent_although_its_node_dies_at_once() {
    const PAGE: &str = "hooks.example/a";
    let hooks = Hooks::with_clock(Clock::System).await;
    hooks.webhook(PAGE, Reply::page("ok")).await;
    let Hooks { app, infra, site: server, shop, .. } = hooks;
    let database = app.database.clone();
    drop(app);
    wait_until("this node has ended", async || infra.shutdown.has_begun()).await;
    // It finds no server to tell.
    let mut killed = Process::start(program(&database.url)).await;
    for number in 0..5 {
        let choice = shop.acceptance(&format!("v{number}"));
        let request = reqwest::Client::new().post(killed.url("/v1/consent/record")).json(&choice);
        assert_eq!(request.send().await.unwrap().status(), 202);
    }
    killed.send(Signal::SIGKILL);
    killed.exit_code().await;
    // Its claim lapses, and what it has tried in vain is due.
    for statement in [
        "UPDATE webhook_endpoints SET claimed_until = created_at, retry_at = NULL",
        "UPDATE webhook_deliveries SET next_attempt_at = occurred_at",
    ] {
        query(statement).execute(&infra.pool).await.unwrap();
    }
    let mut other = program(&database.url);
    other.env("WEBHOOK_RESOLVE", server.resolve(&["hooks.example"]));
    other.env("WEBHOOK_CA_FILE", ca_file());
    let _other = Process::start(other).await;
    let visitors = || {
        let sent = server.seen().into_iter().filter(|seen| seen.page == PAGE);
        let body = |seen: Seen| serde_json::from_str::<Value>(&seen.body).unwrap();
        let visitor = |body: Value| body["data"]["receipt"]["visitor_id"].clone();
        let mut visitors = sent.map(body).map(visitor).collect::<Vec<_>>();
        visitors.dedup();
        visitors
    };
    wait_until("all five", async || visitors().len() >= 5).await;
    assert_eq!(visitors(), ["v0", "v1", "v2", "v3", "v4"]);
}
