//! Two PostgreSQL servers behind one address, and nodes that use them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assent::clock::Clock;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::console::Browser;
use crate::support::contacts::person;
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::outage::Road;
use crate::support::postgres::servers::{Server, Servers};
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;
use crate::support::{Account, Answer, App, MailServer, fresh_address};

/// Time limit for recovery after the new primary becomes reachable. It is longer than the promised 5 s,
/// because other tests may slow the machine down.
pub const RECOVERED: Duration = Duration::from_secs(15);
pub const UNAVAILABLE: &str = "database unavailable";

/// Two nodes with separate addresses for the same database, and the data that they serve.
pub struct Scene {
    pub servers: Servers,
    pub roads: [Road; 2],
    pub nodes: [Arc<App>; 2],
    pub ann: Account,
    pub site: Site,
    /// The hash of the policy in force.
    pub policy_hash: Mutex<String>,
    pub cookies: BTreeMap<String, String>,
    pub withdrawn: Arc<Mutex<Vec<String>>>,
    pub watchers: Vec<JoinHandle<()>>,
    /// Answers that must never be given.
    pub wrong: Arc<Mutex<Vec<String>>>,
    pub visitors: AtomicUsize,
}

impl Scene {
    pub async fn start() -> Self {
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
    pub fn watch(&self, node: &Arc<App>) -> JoinHandle<()> {
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
    pub async fn withdraws(&self, node: &App) -> Result<(), String> {
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
    pub async fn works(&self, node: &App) -> Result<(), String> {
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

    pub async fn all_work(&self) -> Result<(), String> {
        let done = join_all(self.nodes.iter().map(|node| self.works(node))).await;
        done.into_iter().collect()
    }

    /// Waits until every request that needs the database is refused as unavailable. Internal errors are
    /// not allowed.
    pub async fn are_unavailable(&self) {
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

    pub fn lead_to(&self, server: Server) {
        let url = self.servers.url(server);
        self.roads.iter().for_each(|road| road.lead_to(&url));
    }

    /// Waits until all nodes serve everything, prints the time since `begun`, and tests cache
    /// invalidation and jobs.
    pub async fn recover(&self, begun: Instant) {
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
    pub async fn changes_arrive(&self) {
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
    pub async fn jobs_run(&self) {
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
    pub fn nothing_was_wrong(&self) {
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

pub fn expect(status: u16, expected: u16, what: &str, text: &str) -> Result<(), String> {
    if status == expected { Ok(()) } else { Err(format!("{what}: {status} {text}")) }
}
