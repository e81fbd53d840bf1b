//! The metrics, and data that they must never contain.

use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use nix::sys::signal::Signal;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::{TestDatabase, statements_that_wait};
use crate::support::process::{program, run, said};
use crate::support::scrape::Scrape;
use crate::support::server::client;
use crate::support::story::Site;
use crate::support::waiting::wait_until;
use crate::support::{Answer, App, MailServer, Process, fresh_address};

/// A node with metrics, and another one on which tests set things up.
struct Scene {
    node: Process,
    setup: App,
}

impl Scene {
    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    async fn start_with(settings: &[(&str, &str)]) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        let setup = App::spawn_on(Arc::clone(&database), Clock::System, &[]).await;
        let mut command = program(&database.url);
        command.env("METRICS_ADDRESS", "127.0.0.1:0").envs(settings.iter().copied());
        Self { node: Process::start(command).await, setup }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        client().request(method, self.node.url(path))
    }

    async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body)).await
    }

    async fn site(&self) -> (String, Site) {
        let account = self.setup.account("ann@metrics.example").await;
        let site = self.setup.consent_site(&account.key, "shop.example").await;
        (account.key, site)
    }

    /// Scrapes until a gauge or counter has a value.
    async fn reaches(&self, name: &str, value: f64) {
        self.reaches_of(name, &[], value).await;
    }

    async fn reaches_of(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        for _ in 0..3_000 {
            if self.node.scrape().await.value(name, labels) == Some(value) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{name} does not become {value}: {}", self.node.scrape().await.text);
    }
}

fn requests(scrape: &Scrape, method: &str, route: &str, status: &str) -> Option<f64> {
    let labels = [("method", method), ("route", route), ("status", status)];
    scrape.value("assent_http_requests_total", &labels)
}

#[tokio::test]
async fn requests_are_counted_by_the_pattern_of_their_route_and_their_status() {
    let scene = Scene::start().await;
    let (key, site) = scene.site().await;
    let path = format!("/v1/pixels/{}", site.pixel_id);
    for _ in 0..3 {
        Answer::of(scene.request(Method::GET, &path).bearer_auth(&key)).await.expect(200);
    }
    Answer::of(scene.request(Method::HEAD, &path).bearer_auth(&key)).await;
    scene.get(&path).await.refused(401, "api key required");
    scene.get("/healthz?verbose=ann@metrics.example").await.expect(200);
    let scrape = scene.node.scrape().await;
    let route = "/v1/pixels/<pixel_id>";
    assert_eq!(requests(&scrape, "GET", route, "200"), Some(4.0), "{}", scrape.text);
    assert_eq!(requests(&scrape, "GET", route, "401"), Some(1.0));
    assert_eq!(requests(&scrape, "GET", "/healthz", "200"), Some(1.0));
    let route = [("method", "GET"), ("route", route)];
    let count = |name: &str| scrape.value(name, &route).unwrap();
    assert_eq!(count("assent_http_request_duration_seconds_count"), 5.0);
    assert!(count("assent_http_request_duration_seconds_sum") > 0.0);
    let all = [route[0], route[1], ("le", "+Inf")];
    assert_eq!(scrape.value("assent_http_request_duration_seconds_bucket", &all), Some(5.0));
}

#[tokio::test]
async fn requests_without_a_route_share_one_label() {
    let scene = Scene::start().await;
    for number in 0..20 {
        scene.get(&format!("/nowhere/{number}")).await.refused(404, "not found");
    }
    let other_method = scene.request(Method::DELETE, "/healthz");
    Answer::of(other_method).await.refused(405, "method not allowed");
    let scrape = scene.node.scrape().await;
    assert_eq!(requests(&scrape, "any", "unmatched", "404"), Some(20.0), "{}", scrape.text);
    assert_eq!(requests(&scrape, "any", "unmatched", "405"), Some(1.0));
    assert!(!scrape.text.contains("nowhere"));
}

#[tokio::test]
async fn every_name_is_the_services_own_and_every_route_is_a_pattern() {
    let scene = Scene::start().await;
    let (key, site) = scene.site().await;
    let paths = ["", "/consent", "/consent/stats", "/consent/export", "/contacts?after=0"];
    for path in paths.map(|path| format!("/v1/pixels/{}{path}", site.pixel_id)) {
        assert_eq!(
            Answer::of(scene.request(Method::GET, &path).bearer_auth(&key)).await.status,
            200
        );
    }
    for path in ["/px/<>.js", "/pixels/<>/p.js", "/v1/policy/<>", "/demo/preview/<>"] {
        scene.get(&path.replace("<>", &site.pixel_id)).await;
    }
    let scrape = scene.node.scrape().await;
    assert!(scrape.names().all(|name| name.starts_with("assent_")), "{}", scrape.text);
    assert!(scrape.names().count() > 50);
    assert!(scrape.label_values("route").count() > 8);
    assert!(!scrape.text.contains(&site.pixel_id), "{}", scrape.text);
    let documented = include_str!("../../../docs/reference.md");
    for name in scrape.names() {
        let ends = ["_bucket", "_sum", "_count"].map(|end| name.strip_suffix(end));
        let name = ends.into_iter().flatten().next().unwrap_or(name);
        assert!(documented.contains(&format!("`{name}`")), "{name} is in no row of the reference");
    }
}

#[tokio::test]
async fn choices_checks_caches_and_batches_are_counted_by_kind() {
    let scene = Scene::start().await;
    // The node drops once more all data that it cached before it listened for changes.
    scene.reaches("assent_changes_listening", 1.0).await;
    let (_, site) = scene.site().await;
    let record = async |body: Value| scene.post("/v1/consent/record", &body).await.status;
    assert_eq!(record(site.acceptance("v-1")).await, 202);
    assert_eq!(record(site.acceptance("v-2")).await, 202);
    assert_eq!(record(site.refusal("v-3", "declined")).await, 202);
    assert_eq!(record(site.refusal("v-1", "withdrawn")).await, 202);
    assert_eq!(record(json!({"pixel_id": site.pixel_id})).await, 204);
    let mut elsewhere = site.acceptance("v-4");
    elsewhere["url"] = json!("https://elsewhere.example/");
    assert_eq!(record(elsewhere).await, 403);
    for (visitor, times) in [("v-1", 1), ("v-2", 2), ("nobody", 3)] {
        for _ in 0..times {
            let query = format!("pixel_id={}&visitor_id={visitor}", site.pixel_id);
            scene.get(&format!("/v1/consent/check?{query}")).await.expect(200);
        }
    }
    for _ in 0..3 {
        assert_eq!(scene.get(&format!("/px/{}.js", site.pixel_id)).await.status, 200);
    }
    // A batch is counted after its answers.
    scene.reaches("assent_receipts_batch_size_sum", 4.0).await;
    let scrape = scene.node.scrape().await;
    let count = |name: &str, label: (&str, &str)| scrape.value(name, &[label]).unwrap();
    for (kind, times) in [
        ("accepted", 2.0),
        ("declined", 1.0),
        ("withdrawn", 1.0),
        ("ignored", 1.0),
        ("site_mismatch", 1.0),
        ("other", 0.0),
    ] {
        assert_eq!(count("assent_choices_total", ("kind", kind)), times, "{}", scrape.text);
    }
    for (reason, times) in [
        ("ok", 2.0),
        ("declined_or_withdrawn", 1.0),
        ("no_consent_record", 3.0),
        ("consent_off", 0.0),
        ("other", 0.0),
    ] {
        assert_eq!(count("assent_consent_checks_total", ("reason", reason)), times, "{reason}");
    }
    assert_eq!(scrape.value("assent_receipts_batch_size_sum", &[]), Some(4.0));
    assert_eq!(scrape.value("assent_receipts_commit_duration_seconds_count", &[]), Some(4.0));
    assert_eq!(scrape.value("assent_receipts_queued", &[]), Some(0.0));
    let lookups = |cache, result| {
        scrape.value("assent_cache_requests_total", &[("cache", cache), ("result", result)])
    };
    assert_eq!(lookups("scripts", "miss"), Some(1.0));
    assert_eq!(lookups("scripts", "hit"), Some(2.0));
    assert!(lookups("sites", "hit") >= Some(1.0), "{}", scrape.text);
    assert!(lookups("sites", "miss") >= Some(1.0));
    assert_eq!(lookups("pauses", "hit"), Some(0.0));
}

#[tokio::test]
async fn a_writer_that_is_held_up_shows_in_the_queue_and_then_in_the_batch() {
    // Not on a cluster: it looks at the locks of one server.
    if !workers().is_empty() {
        return;
    }
    let scene = Scene::start().await;
    let (_, site) = scene.site().await;
    scene.reaches("assent_changes_listening", 1.0).await;
    let mut held = scene.setup.pool.begin().await.unwrap();
    // A statement that only reads, such as the count of days, does not wait for it.
    let lock = "LOCK TABLE consent_receipts IN SHARE MODE";
    sqlx::raw_sql(lock).execute(&mut *held).await.unwrap();
    let send = |visitor: String| {
        let request = scene.request(Method::POST, "/v1/consent/record");
        tokio::spawn(Answer::of(request.json(&site.acceptance(&visitor))))
    };
    // All of one visitor, which one writer writes: the first is taken at once and waits for the
    // lock, the others wait for the first.
    let mut answers = vec![send("ann".to_owned())];
    // Not what deletes rows, which may wait there as well.
    let waits =
        async || statements_that_wait(&scene.setup.pool, "INSERT INTO consent_receipts").await > 0;
    wait_until("a choice waits for the lock", waits).await;
    answers.extend((0..5).map(|_| send("ann".to_owned())));
    scene.reaches("assent_receipts_queued", 5.0).await;
    // The one that listens for changes, once nothing else is at work; the writer's is none of the pool's.
    let in_use = [("pool", "primary"), ("state", "in_use")];
    scene.reaches_of("assent_database_connections", &in_use, 1.0).await;
    held.rollback().await.unwrap();
    for answer in answers {
        answer.await.unwrap().expect(202);
    }
    scene.reaches("assent_receipts_queued", 0.0).await;
    // A batch is counted after its answers.
    scene.reaches("assent_receipts_batch_size_sum", 6.0).await;
    let scrape = scene.node.scrape().await;
    let of_five = |le| scrape.value("assent_receipts_batch_size_bucket", &[("le", le)]);
    assert_eq!((of_five("2.0"), of_five("5.0")), (Some(1.0), Some(2.0)), "{}", scrape.text);
    let slow = scrape.value("assent_receipts_commit_duration_seconds_sum", &[]).unwrap();
    assert!(slow > 0.0, "{slow} s");
}

#[tokio::test]
async fn mails_are_counted_by_what_became_of_them() {
    let scene = Scene::start_with(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let sign_up = async |email: &str| {
        let body = json!({"email": email, "display_name": "Test"});
        scene.post("/v1/accounts", &body).await.status
    };
    assert_eq!(sign_up(&fresh_address("metrics")).await, 201);
    assert_eq!(sign_up("refuse-metrics@metrics.example").await, 502);
    let scrape = scene.node.scrape().await;
    let mails =
        |mail, result| scrape.value("assent_mails_total", &[("mail", mail), ("result", result)]);
    assert_eq!(mails("confirmation", "sent"), Some(1.0), "{}", scrape.text);
    assert_eq!(mails("confirmation", "failed"), Some(1.0));
    assert_eq!(mails("confirmation", "skipped"), Some(0.0));
    assert_eq!(mails("snippet", "sent"), Some(0.0));
}

#[tokio::test]
async fn install_checks_are_counted_and_the_node_says_that_it_listens() {
    let scene = Scene::start_with(&[("INSTALL_CHECK_RESOLVE", "shop.example=127.0.0.1:1")]).await;
    let (key, site) = scene.site().await;
    let path = format!("/v1/pixels/{}/check", site.pixel_id);
    let checked = Answer::of(scene.request(Method::POST, &path).bearer_auth(&key)).await;
    assert_eq!(checked.expect(200)["install_status"], "unreachable");
    scene.reaches("assent_changes_listening", 1.0).await;
    let scrape = scene.node.scrape().await;
    let checks = |finding| scrape.value("assent_install_checks_total", &[("finding", finding)]);
    assert_eq!((checks("failed"), checks("present")), (Some(1.0), Some(0.0)));
    assert_eq!(scrape.value("assent_build_info", &[("version", "1.0.0")]), Some(1.0));
    let most = scrape.value("assent_database_connections_max", &[("pool", "primary")]);
    assert_eq!(most, Some(17.0));
    assert_eq!(scrape.value("assent_database_connections_max", &[("pool", "read")]), None);
}

#[tokio::test]
async fn a_replica_has_a_pool_of_its_own() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("METRICS_ADDRESS", "127.0.0.1:0").env("DATABASE_READ_URL", &database.url);
    let scrape = Process::start(command).await.scrape().await;
    let idle = [("pool", "read"), ("state", "idle")];
    assert_eq!(scrape.value("assent_database_connections", &idle), Some(0.0), "{}", scrape.text);
}

#[tokio::test]
async fn the_public_listener_has_no_metrics_and_without_an_address_nobody_has() {
    let scene = Scene::start().await;
    scene.get("/metrics").await.refused(404, "not found");
    let metrics = scene.node.metrics_url().await;
    let base = metrics.strip_suffix("/metrics").unwrap();
    for path in ["/healthz", "/v1/plans", "/"] {
        assert_eq!(Answer::of(client().get(format!("{base}{path}"))).await.status, 404, "{path}");
    }
    let plain = Process::start(program(&scene.setup.database.url)).await;
    let request = client().get(plain.url("/metrics"));
    Answer::of(request).await.refused(404, "not found");
    assert!(!plain.log().contains("metrics"), "{}", plain.log());
}

#[tokio::test]
async fn an_address_that_is_taken_stops_the_start_with_a_sentence() {
    let database = TestDatabase::create().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = program(&database.url);
    command.env("METRICS_ADDRESS", &address).arg("serve");
    let (code, output, complaint) = said(&run(command).await);
    assert_eq!((code, output.as_str()), (Some(1), ""), "{complaint}");
    let cause = "binding failed: Address already in use (os error 98)";
    let sentence = format!("assent: METRICS_ADDRESS: cannot serve on {address}: {cause}");
    assert_eq!(complaint.lines().last(), Some(sentence.as_str()), "{complaint}");
}

#[tokio::test]
async fn the_metrics_end_with_the_service() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("METRICS_ADDRESS", "localhost:0");
    let mut node = Process::start(command).await;
    let url = node.metrics_url().await;
    // A scraper keeps its connection open.
    let scraper = client();
    assert_eq!(Answer::of(scraper.get(&url)).await.status, 200);
    node.send(Signal::SIGTERM);
    assert_eq!(node.exit_code().await, Some(0));
    assert!(scraper.get(&url).send().await.is_err());
}
