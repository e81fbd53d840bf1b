//! A read replica that lags: what may be late is late, what decides something is not.

use std::sync::Arc;

use assent::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::outage::Road;
use crate::support::postgres::replica::Replicated;
use crate::support::server::start_of_time;
use crate::support::story::{Account, Site};
use crate::support::{Answer, App};

/// The service with a replica, the way to which can be cut.
struct Scene {
    app: App,
    servers: Replicated,
    road: Road,
    ann: Account,
    site: Site,
}

/// The answers of the four routes that read from the replica.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    /// The log's states, newest first.
    log: Vec<Value>,
    exported: usize,
    contacts: usize,
    /// Accepted and withdrawn choices.
    counted: (Value, Value),
}

impl Scene {
    async fn start() -> Self {
        let servers = Replicated::start().await;
        let road = Road::to(&servers.replica_url).await;
        let database = Arc::new(TestDatabase::of_server(&servers.primary_url).await);
        let settings = [("DATABASE_READ_URL", road.url.as_str())];
        let app = App::spawn_on(database, Clock::manual(start_of_time()), &settings).await;
        let ann = app.account("ann@example.com").await;
        let site = app.consent_site(&ann.key, "shop.example").await;
        Self { app, servers, road, ann, site }
    }

    async fn read(&self, path: &str) -> Answer {
        let path = format!("/v1/pixels/{}/{path}", self.site.pixel_id);
        self.app.call(Method::GET, &path, &self.ann.key, Value::Null).await
    }

    async fn shown(&self) -> Shown {
        let log = self.app.log(&self.ann.key, &self.site.pixel_id).await;
        let export = self.read("consent/export").await;
        assert_eq!(export.status, 200, "{}", export.text);
        let totals = self.read("consent/stats").await.expect(200)["totals"].take();
        let contacts = self.app.all_contacts(&self.ann.key, &self.site.pixel_id).await;
        // Each line ends with a line break, the one with the names too.
        let table = self.read("contacts?after=0&format=csv").await.text;
        assert_eq!(table.lines().count(), contacts.len() + 1);
        let state = |event: &Value| event["receipt"]["consent_state"].clone();
        Shown {
            log: log.iter().map(state).collect(),
            exported: export.text.lines().filter(|line| line.contains("\"receipt\"")).count(),
            contacts: contacts.len(),
            counted: (totals["accepted"].clone(), totals["withdrawn"].clone()),
        }
    }

    async fn reason(&self, visitor: &str) -> Value {
        self.app.check(&self.site.pixel_id, visitor).await["reason"].take()
    }

    async fn store(&self, people: std::ops::Range<usize>) {
        self.app.store_people(&self.ann.key, &self.site.pixel_id, people).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_replica_delays_what_is_read_but_never_a_decision() {
    let scene = Scene::start().await;
    let Scene { app, servers, ann, site, .. } = &scene;
    app.recorded(&site.acceptance("ann")).await;
    scene.store(0..1).await;
    servers.catches_up_with(&app.pool).await;
    let early = Shown {
        log: vec![json!("accepted")],
        exported: 1,
        contacts: 1,
        counted: (json!(1), json!(0)),
    };
    assert_eq!(scene.shown().await, early);

    servers.pause().await;
    app.recorded(&site.refusal("ann", "withdrawn")).await;
    app.recorded(&site.acceptance("bob")).await;
    scene.store(1..3).await;
    // Late: log, export, contacts, stats.
    assert_eq!(scene.shown().await, early);
    // Not late: check and receipt, and what counts against the allowance.
    assert_eq!(scene.reason("ann").await, "declined_or_withdrawn");
    assert_eq!(scene.reason("bob").await, "ok");
    let receipt = app.receipt(&site.pixel_id, "ann").await.expect(200);
    assert_eq!(receipt["receipt"]["consent_state"], "withdrawn");
    let quote = app.call(Method::GET, "/v1/billing/quote", &ann.key, Value::Null).await;
    assert_eq!(quote.expect(200)["allowance"]["contacts_used"], 3);
    // A new policy is in force at once.
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["analytics"]});
    app.configure(&ann.key, &site.pixel_id, body).await.expect(200);
    assert_eq!(scene.reason("bob").await, "policy_version_stale");

    // A reader that follows the cursor meanwhile misses nothing later.
    let page = app.contacts(&ann.key, &site.pixel_id, "after=0").await.expect(200);
    let next = format!("after={}", page["high_water"]);
    let empty = app.contacts(&ann.key, &site.pixel_id, &next).await.expect(200);
    assert_eq!((&empty["contacts"], &empty["high_water"]), (&json!([]), &page["high_water"]));

    servers.resume().await;
    servers.catches_up_with(&app.pool).await;
    let states = ["accepted", "withdrawn", "accepted"].map(|state| json!(state));
    let late =
        Shown { log: states.to_vec(), exported: 3, contacts: 3, counted: (json!(2), json!(1)) };
    assert_eq!(scene.shown().await, late);
    let page = app.contacts(&ann.key, &site.pixel_id, &next).await.expect(200);
    assert_eq!(page["contacts"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_replica_the_service_still_records_and_decides() {
    let scene = Scene::start().await;
    let Scene { app, servers, road, ann, site } = &scene;
    servers.catches_up_with(&app.pool).await;
    road.cut();
    app.recorded(&site.acceptance("ann")).await;
    assert_eq!(scene.reason("ann").await, "ok");
    scene.store(0..1).await;
    assert_eq!(app.get("/healthz").await.status, 200);
    for path in [
        "consent",
        "consent?format=csv",
        "consent/export",
        "consent/stats",
        "contacts?after=0",
        "contacts?after=0&format=csv",
    ] {
        scene.read(path).await.refused(503, "database unavailable");
    }
    road.mend();
    servers.catches_up_with(&app.pool).await;
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 1);
}
