//! A switchover between two PostgreSQL servers behind one address, while connections to the former
//! primary stay open: a visitor who has withdrawn is never reported as permitted, and the service
//! recovers soon.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assent::clock::Clock;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::support::console::Browser;
use crate::support::contacts::person;
use crate::support::database::TestDatabase;
use crate::support::log::LOG_KEY;
use crate::support::outage::Road;
use crate::support::server::start_of_time;
use crate::support::servers::{Server, Servers};
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::{Account, Answer, App, MailServer, fresh_address};

/// Time limit for recovery after the new primary becomes reachable. It is longer than the promised 5 s,
/// because other tests may slow the machine down.
const RECOVERED: Duration = Duration::from_secs(15);
const UNAVAILABLE: &str = "database unavailable";

/// Two nodes with separate addresses for the same database, and the data that they serve.
struct Scene {
    servers: Servers,
    roads: [Road; 2],
    nodes: [Arc<App>; 2],
    ann: Account,
    site: Site,
    /// The hash of the policy in force.
    policy_hash: Mutex<String>,
    cookies: BTreeMap<String, String>,
    withdrawn: Arc<Mutex<Vec<String>>>,
    watchers: Vec<JoinHandle<()>>,
    /// Answers that must never be given.
    wrong: Arc<Mutex<Vec<String>>>,
    visitors: AtomicUsize,
}

impl Scene {
    async fn start() -> Self {
        let servers = Servers::start();
        let first = servers.url(Server::First);
        let roads = [Road::to(&first).await, Road::to(&first).await];
        let address = fresh_address("failover");
        let mail = [LOG_KEY, ("SMTP_URL", &*MailServer::shared().url)];
        let clock = Clock::manual(start_of_time());
        let mut nodes = Vec::new();
        for (road, settings) in roads.iter().zip([&[LOG_KEY][..], &mail[..]]) {
            let database = Arc::new(TestDatabase::of_server(&road.url).await);
            nodes.push(Arc::new(App::spawn_on(database, clock.clone(), settings).await));
        }
        let nodes: [Arc<App>; 2] = nodes.try_into().ok().expect("two nodes");
        let ann = nodes[0].account(&address).await;
        let site = nodes[0].consent_site(&ann.key, "shop.example").await;
        let cookies = nodes[0].browser_of(&ann.key).await.cookies;
        let mut scene = Self {
            servers,
            roads,
            nodes,
            ann,
            policy_hash: Mutex::new(site.policy_hash.clone()),
            site,
            cookies,
            withdrawn: Arc::default(),
            watchers: Vec::new(),
            wrong: Arc::default(),
            visitors: 0.into(),
        };
        for _ in 0..4 {
            for node in &scene.nodes {
                scene.withdraws(node).await.expect("it works");
            }
        }
        scene.watchers = scene.nodes.iter().map(|node| scene.watch(node)).collect();
        scene
    }

    /// Repeatedly checks every visitor whose withdrawal was acknowledged.
    fn watch(&self, node: &Arc<App>) -> JoinHandle<()> {
        let (node, withdrawn) = (Arc::clone(node), Arc::clone(&self.withdrawn));
        let (wrong, pixel) = (Arc::clone(&self.wrong), self.site.pixel_id.clone());
        tokio::spawn(async move {
            loop {
                let visitors = withdrawn.lock().unwrap().clone();
                for visitor in visitors {
                    let path = format!("/v1/consent/check?pixel_id={pixel}&visitor_id={visitor}");
                    let answer = node.get(&path).await;
                    let is_right = match answer.status {
                        200 => answer.json()["reason"] == "declined_or_withdrawn",
                        503 => true,
                        _ => false,
                    };
                    if !is_right {
                        let said = format!("{visitor}: {} {}", answer.status, answer.text);
                        wrong.lock().unwrap().push(said);
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        })
    }

    /// A new visitor accepts, is checked, and withdraws. Acknowledged withdrawals are added to those
    /// under watch.
    async fn withdraws(&self, node: &App) -> Result<(), String> {
        let number = self.visitors.fetch_add(1, Ordering::SeqCst);
        let visitor = format!("visitor-{number}");
        let policy_hash = json!(*self.policy_hash.lock().unwrap());
        let acceptance = with(&self.site.acceptance(&visitor), "policy_version_hash", policy_hash);
        let accepted = node.record(&acceptance).await;
        expect(accepted.status, 202, "accept", &accepted.text)?;
        let path =
            format!("/v1/consent/check?pixel_id={}&visitor_id={visitor}", self.site.pixel_id);
        let check = node.get(&path).await;
        expect(check.status, 200, "check", &check.text)?;
        if check.json()["permitted"] != true {
            return Err(format!("check: {}", check.text));
        }
        let withdrawn = node.record(&self.site.refusal(&visitor, "withdrawn")).await;
        expect(withdrawn.status, 202, "withdraw", &withdrawn.text)?;
        self.withdrawn.lock().unwrap().push(visitor);
        Ok(())
    }

    /// Fails unless a node serves every kind of request.
    async fn works(&self, node: &App) -> Result<(), String> {
        let (key, pixel) = (&self.ann.key, &self.site.pixel_id);
        self.withdraws(node).await?;
        let stored = node.store(key, pixel, json!([person(1)])).await;
        expect(stored.status, 200, "store contacts", &stored.text)?;
        let contacts = node.contacts(key, pixel, "after=0").await;
        expect(contacts.status, 200, "contacts", &contacts.text)?;
        let log = node.call(Method::GET, &self.site.path(""), key, Value::Null).await;
        expect(log.status, 200, "log", &log.text)?;
        let mut browser = Browser { app: node, cookies: self.cookies.clone() };
        let page = browser.get("/console").await;
        expect(page.status, 200, "console", &page.text)?;
        let health = node.get("/healthz").await;
        expect(health.status, 200, "healthz", &health.text)
    }

    async fn all_work(&self) -> Result<(), String> {
        let done = join_all(self.nodes.iter().map(|node| self.works(node))).await;
        done.into_iter().collect()
    }

    /// Waits until every request that needs the database is refused as unavailable. Internal errors are
    /// not allowed.
    async fn are_unavailable(&self) {
        let begun = Instant::now();
        let (key, pixel) = (&self.ann.key, &self.site.pixel_id);
        for node in &self.nodes {
            loop {
                let record = self.site.refusal("nobody", "declined");
                let check = format!("/v1/consent/check?pixel_id={pixel}&visitor_id=visitor-0");
                let account = json!({"email": "bob@b.example", "display_name": "Bob"});
                let answers: [Answer; 6] = tokio::join!(
                    node.record(&record),
                    node.get(&check),
                    node.get("/healthz"),
                    node.store(key, pixel, json!([person(2)])),
                    node.call(Method::GET, "/v1/pixels", key, Value::Null),
                    node.post("/v1/accounts", account),
                )
                .into();
                for answer in &answers {
                    assert!(matches!(answer.status, 200 | 201 | 202 | 409 | 503), "{answer:?}");
                }
                if answers.iter().all(|answer| answer.status == 503) {
                    answers.iter().for_each(|answer| answer.refused(503, UNAVAILABLE));
                    break;
                }
                assert!(begun.elapsed() < 3 * RECOVERED, "{answers:?}");
            }
        }
    }

    fn lead_to(&self, server: Server) {
        let url = self.servers.url(server);
        self.roads.iter().for_each(|road| road.lead_to(&url));
    }

    /// Waits until all nodes serve everything, prints the time since `begun`, and tests cache
    /// invalidation and jobs.
    async fn recover(&self, begun: Instant) {
        while let Err(reason) = self.all_work().await {
            assert!(begun.elapsed() < RECOVERED, "{reason}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        eprintln!("everything works again after {:?}", begun.elapsed());
        self.changes_arrive().await;
        self.jobs_run().await;
        self.nothing_was_wrong();
    }

    /// A change on one node is served by the other.
    async fn changes_arrive(&self) {
        let [here, there] = &self.nodes;
        let changed = here.reconfigured(&self.ann.key, &self.site, "Another Ltd").await;
        let begun = Instant::now();
        let path = format!("/px/{}.js", self.site.pixel_id);
        while !there.get(&path).await.text.contains("Another Ltd") {
            assert!(begun.elapsed() < RECOVERED, "the change does not arrive");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let hash = changed["policy_hash"].as_str().unwrap();
        *self.policy_hash.lock().unwrap() = hash.to_owned();
        // A job adds publications to the public log.
        there.log_with(|log| log.has("policy", hash)).await;
    }

    /// Mails are sent both directly and by the job that processes the outbox.
    async fn jobs_run(&self) {
        let node = &self.nodes[1];
        let before = MailServer::shared().inbox(&self.ann.email).len();
        let mut browser = Browser::new(node);
        browser.ask_for_code(&self.ann.email).await;
        let insert = "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id)
            SELECT pixel_id, '2020-01-01', 'long ago' FROM pixels";
        sqlx::query(insert).execute(&node.pool).await.unwrap();
        node.clock.advance(chrono::Duration::hours(2));
        let rest = "SELECT count(*) FROM consent_shown WHERE shown_on = '2020-01-01'";
        node.until(async || {
            sqlx::query_scalar::<_, i64>(rest).fetch_one(&node.pool).await.unwrap() == 0
        })
        .await;
        assert!(MailServer::shared().inbox(&self.ann.email).len() > before);
    }

    #[track_caller]
    fn nothing_was_wrong(&self) {
        assert!(
            self.watchers.iter().all(|watcher| !watcher.is_finished()),
            "they watch to the end"
        );
        let wrong = self.wrong.lock().unwrap();
        assert!(
            wrong.is_empty(),
            "{} wrong answers: {:?}",
            wrong.len(),
            &wrong[..wrong.len().min(5)]
        );
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.watchers.iter().for_each(JoinHandle::abort);
    }
}

fn expect(status: u16, expected: u16, what: &str, text: &str) -> Result<(), String> {
    if status == expected { Ok(()) } else { Err(format!("{what}: {status} {text}")) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_only_former_primary_answers_nothing_on_open_connections() {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    scene.servers.set_read_only(Server::First, true).await;
    scene.are_unavailable().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    scene.recover(Instant::now()).await;
    // A client that still reaches the former primary must not see it in use again.
    scene.servers.set_read_only(Server::First, false).await;
    scene.all_work().await.unwrap();
    scene.nothing_was_wrong();
    // Then it becomes a standby, which closes its connections, and the address leads back to it.
    scene.servers.restart_as_standby(Server::First);
    scene.lead_to(Server::First);
    scene.servers.stop(Server::Second);
    scene.are_unavailable().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_answered_while_the_address_leads_to_a_standby_until_its_promotion() {
    let scene = Scene::start().await;
    scene.lead_to(Server::Second);
    scene.are_unavailable().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_former_primary_that_accepts_writes_is_abandoned_once_the_address_changes() {
    let scene = Scene::start().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    let begun = Instant::now();
    let mut second = PgConnection::connect(&scene.servers.url(Server::Second)).await.unwrap();
    let writes = "SELECT count(*) FROM consent_receipts WHERE visitor_id = $1";
    // What a node still records on the former primary is lost, so visitors under watch come afterwards.
    for (number, node) in scene.nodes.iter().enumerate() {
        let visitor = format!("late-{number}");
        loop {
            let answer = node.record(&scene.site.refusal(&visitor, "declined")).await;
            assert!(matches!(answer.status, 202 | 503), "{answer:?}");
            let written = sqlx::query_scalar::<_, i64>(writes).bind(&visitor);
            if written.fetch_one(&mut second).await.unwrap() > 0 {
                break;
            }
            assert!(begun.elapsed() < RECOVERED, "it still records on the former primary");
        }
    }
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_primary_that_is_full_does_not_prolong_the_use_of_the_former_one() {
    let scene = Scene::start().await;
    scene.servers.catches_up().await;
    scene.servers.promote(Server::Second);
    let mut guests = Vec::new();
    while let Ok(guest) = PgConnection::connect(&scene.servers.url(Server::Second)).await {
        guests.push(guest);
    }
    scene.lead_to(Server::Second);
    // The former primary still takes writes, and the address says nothing but that there is no room.
    scene.are_unavailable().await;
    drop(guests);
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_primary_that_is_full_stays_in_use() {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    let mut guests = Vec::new();
    while let Ok(guest) = PgConnection::connect(&scene.servers.url(Server::First)).await {
        guests.push(guest);
    }
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(12) {
        for node in &scene.nodes {
            scene.withdraws(node).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    scene.nothing_was_wrong();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_primary_that_hangs_is_left_when_the_address_leads_elsewhere_and_is_not_used_when_it_goes_on()
 {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    scene.servers.catches_up().await;
    scene.servers.freeze(Server::First);
    // Requests during this time hang on connections of the pool and on kept connections.
    let hanging = (0..20).map(|number| {
        let (node, key) = (Arc::clone(&scene.nodes[number % 2]), scene.ann.key.clone());
        tokio::spawn(
            async move { node.call(Method::GET, "/v1/pixels", &key, Value::Null).await.status },
        )
    });
    let hanging = hanging.collect::<Vec<_>>();
    tokio::time::sleep(Duration::from_secs(2)).await;
    scene.nodes[0].get("/healthz").await.refused(503, UNAVAILABLE);
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    scene.recover(Instant::now()).await;
    for asked in hanging {
        assert!(matches!(asked.await.unwrap(), 200 | 503));
    }
    scene.servers.thaw(Server::First);
    scene.all_work().await.unwrap();
    scene.nothing_was_wrong();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_a_crash_of_the_primary_the_promoted_standby_takes_over() {
    let scene = Scene::start().await;
    scene.all_work().await.unwrap();
    scene.servers.catches_up().await;
    scene.servers.stop(Server::First);
    scene.are_unavailable().await;
    scene.servers.promote(Server::Second);
    scene.lead_to(Server::Second);
    scene.recover(Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_read_only_for_a_while_is_unavailable_and_then_works_again() {
    let app = App::spawn().await;
    let ann = app.account("ann@failover.example").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    app.recorded(&site.refusal("first", "withdrawn")).await;
    let new_account = json!({"email": "bob@failover.example", "display_name": "Bob"});
    let check = format!("/v1/consent/check?pixel_id={}&visitor_id=first", site.pixel_id);
    for ends_sessions in [true, false] {
        app.database.alter("SET default_transaction_read_only = on").await;
        app.database.end_sessions().await;
        for _ in 0..2 {
            let record = site.refusal("second", "declined");
            let (recorded, checked, opened, health) = tokio::join!(
                app.record(&record),
                app.get(&check),
                app.post("/v1/accounts", new_account.clone()),
                app.get("/healthz"),
            );
            for answer in [recorded, checked, opened, health] {
                answer.refused(503, UNAVAILABLE);
            }
        }
        app.database.alter("RESET default_transaction_read_only").await;
        if ends_sessions {
            app.database.end_sessions().await;
        }
        let begun = Instant::now();
        loop {
            let record = app.record(&site.refusal("third", "declined")).await.status;
            let health = app.get("/healthz").await.status;
            let checked = app.get(&check).await.status;
            let pixels = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.status;
            if (record, health, checked, pixels) == (202, 200, 200, 200) {
                break;
            }
            assert!(begun.elapsed() < RECOVERED, "{record} {health} {checked} {pixels}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    app.post("/v1/accounts", new_account).await.expect(201);
}
