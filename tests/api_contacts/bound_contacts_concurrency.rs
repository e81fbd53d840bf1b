//! Contacts that depend on consent, while everybody is at work: withdrawals, stores and readers at
//! once, two nodes, a replica that is late, a service that is killed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as RealTime, Instant};

use assent::clock::Clock;
use chrono::Duration;
use futures_util::future::{join, join_all};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::contacts::{bound, hem, person};
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::replica::Replicated;
use crate::support::process::{Process, program};
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::{Account, App};

const VISITORS: usize = 64;
const WRITERS: usize = 16;

fn visitor(number: usize) -> String {
    format!("visitor-{number}")
}

/// Stores items, which a busy service may refuse for the moment.
async fn stored(app: &App, key: &str, pixel: &str, items: Value) -> Value {
    loop {
        let answer = app.store(key, pixel, items.clone()).await;
        if answer.status != 503 {
            return answer.expect(200);
        }
    }
}

async fn site_on(app: &App) -> (Account, Site) {
    let owner = app.unlimited_account("operator@example.com").await;
    let site = app.consent_site(&owner.key, "operator.example").await;
    (owner, site)
}

/// Waits until so many entries are listed as withdrawn.
async fn withdrawn_are(app: &App, key: &str, site: &Site, count: usize) -> Vec<Value> {
    let path = format!("/v1/pixels/{}/contacts/withdrawn", site.pixel_id);
    let started = Instant::now();
    loop {
        let page = app.read(key, &path).await.expect(200);
        let entries = page["withdrawn"].as_array().unwrap().clone();
        if entries.len() == count {
            return entries;
        }
        let waited = started.elapsed() < RealTime::from_secs(20);
        assert!(waited, "{} entries, not {count}", entries.len());
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_at_one_node_hides_and_lists_contacts_at_another() {
    let app = App::spawn().await;
    let other = app.another_node(&[]).await;
    let (owner, site) = site_on(&app).await;
    app.recorded(&site.acceptance("ann")).await;
    let items = json!([bound(1, "ann"), person(2)]);
    other.store(&owner.key, &site.pixel_id, items).await.expect(200);
    assert_eq!(app.all_contacts(&owner.key, &site.pixel_id).await.len(), 2);
    app.recorded(&site.refusal("ann", "withdrawn")).await;
    let withdrawn_at = Instant::now();
    for node in [&app, &other] {
        assert_eq!(node.all_contacts(&owner.key, &site.pixel_id).await.len(), 1);
    }
    withdrawn_are(&other, &owner.key, &site, 1).await;
    assert!(withdrawn_at.elapsed() < RealTime::from_secs(10), "nobody had to look for it");
}

/// The state of the receipts at a moment: of every visitor the last refusal, and of every receipt its
/// position.
struct Receipts {
    refused: HashMap<String, i64>,
    positions: HashMap<String, i64>,
}

impl Receipts {
    async fn of(app: &App) -> Self {
        let rows = sqlx::query_as::<_, (String, String, String, i64)>(
            "SELECT visitor_id, receipt_id::text, consent_state, seq FROM consent_receipts",
        );
        let (mut refused, mut positions) = (HashMap::new(), HashMap::new());
        for (visitor, receipt, state, seq) in rows.fetch_all(&app.pool).await.unwrap() {
            if state != "accepted" {
                let last = refused.entry(visitor).or_insert(seq);
                *last = seq.max(*last);
            }
            positions.insert(receipt, seq);
        }
        Self { refused, positions }
    }
}

/// Reads again and again, and fails when a contact is read whose visitor had refused, before the read
/// began, after the acceptance under which it was stored. Gives the number of reads.
async fn check(app: &App, key: &str, pixel: &str, busy: &AtomicBool) -> usize {
    let (mut reads, mut seen) = (0, 0);
    while busy.load(Ordering::SeqCst) {
        let query = ["after=0", "changed_after=0", "on=2026-03-10"][reads % 3];
        let before = Receipts::of(app).await;
        let page = app.contacts(key, pixel, query).await.expect(200);
        let after = Receipts::of(app).await;
        for contact in page["contacts"].as_array().unwrap() {
            let consent = &contact["consent"];
            let visitor = consent["visitor_id"].as_str().expect("all are bound");
            let position = after.positions[consent["receipt_id"].as_str().unwrap()];
            let refused = before.refused.get(visitor).copied().unwrap_or(0);
            assert!(refused < position, "{visitor} refused at {refused}, stored under {position}");
            seen += 1;
        }
        reads += 1;
    }
    assert!(seen > 0, "something was read");
    reads
}

/// Half of the visitors withdraw and stay away, the others accept once more; meanwhile all of them
/// are stored again and again.
async fn everybody_at_once(app: &App, owner: &Account, site: &Site) {
    let (key, pixel) = (owner.key.as_str(), site.pixel_id.as_str());
    join_all((0..VISITORS).map(|number| async move {
        app.recorded(&site.acceptance(&visitor(number))).await;
    }))
    .await;
    let all = (0..VISITORS).map(|number| bound(number, &visitor(number))).collect::<Value>();
    app.store(key, pixel, all).await.expect(200);
    let busy = AtomicBool::new(true);
    let choosing = async {
        join_all((0..VISITORS).map(|number| async move {
            tokio::time::sleep(RealTime::from_millis(10 * number as u64)).await;
            app.recorded(&site.refusal(&visitor(number), "withdrawn")).await;
            if number % 2 == 1 {
                app.recorded(&site.acceptance(&visitor(number))).await;
            }
        }))
        .await;
    };
    let storing = join_all((0..WRITERS).map(|writer| async move {
        for round in 0..8 {
            let chosen = (0..VISITORS).filter(|number| (number + writer + round) % 4 == 0);
            let items = chosen.map(|number| bound(number, &visitor(number))).collect::<Value>();
            stored(app, key, pixel, items).await;
        }
    }));
    let working = async {
        join(choosing, storing).await;
        // Exactly the visitors who accepted again are stored again.
        let all = (0..VISITORS).map(|number| bound(number, &visitor(number))).collect::<Value>();
        let last = stored(app, key, pixel, all).await;
        assert_eq!(last["stored"], VISITORS / 2);
        busy.store(false, Ordering::SeqCst);
    };
    let (checks, ()) = join(join_all((0..2).map(|_| check(app, key, pixel, &busy))), working).await;
    assert!(checks.iter().all(|reads| *reads > 2), "{checks:?} reads");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_is_read_who_has_withdrawn_whatever_is_stored_meanwhile() {
    let app = App::spawn().await;
    let (owner, site) = site_on(&app).await;
    everybody_at_once(&app, &owner, &site).await;
    let left = app.all_contacts(&owner.key, &site.pixel_id).await;
    assert_eq!(left.len(), VISITORS / 2);
    // No withdrawal was missed by whoever notes them.
    withdrawn_are(&app, &owner.key, &site, VISITORS / 2).await;
    app.clock.advance(Duration::days(7));
    let started = Instant::now();
    let rows = "SELECT (SELECT count(*) FROM contacts) + (SELECT count(*) FROM consent_changes)";
    while sqlx::query_scalar::<_, i64>(rows).fetch_one(&app.pool).await.unwrap()
        != i64::try_from(VISITORS / 2).unwrap()
    {
        assert!(started.elapsed() < RealTime::from_secs(15), "the withdrawn are erased");
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_replica_shows_nobody_who_was_erased() {
    let servers = Replicated::start().await;
    let database = Arc::new(TestDatabase::of_server(&servers.primary_url).await);
    let settings = [("DATABASE_READ_URL", servers.replica_url.as_str())];
    let app = App::spawn_on(database, Clock::manual(start_of_time()), &settings).await;
    let (owner, site) = site_on(&app).await;
    let (key, pixel) = (owner.key.as_str(), site.pixel_id.as_str());
    app.store(key, pixel, json!([person(901), person(902), person(903)])).await.expect(200);
    servers.catches_up_with(&app.pool).await;
    servers.pause().await;
    let suppress = format!("/v1/suppressions/{}", hem(901));
    assert_eq!(app.call(reqwest::Method::PUT, &suppress, key, Value::Null).await.status, 204);
    let erase = format!("/v1/pixels/{pixel}/contacts/{}", hem(902));
    assert_eq!(app.call(reqwest::Method::DELETE, &erase, key, Value::Null).await.status, 204);
    for query in ["after=0", "changed_after=0", "on=2026-03-10"] {
        let page = app.contacts(key, pixel, query).await.expect(200);
        let contacts = page["contacts"].as_array().unwrap();
        assert_eq!(contacts.len(), 1, "{query}: {page}");
        assert_eq!(contacts[0]["hem"], json!(hem(903)), "{query}");
    }
    servers.resume().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_late_replica_shows_nobody_who_has_withdrawn() {
    let servers = Replicated::start().await;
    let database = Arc::new(TestDatabase::of_server(&servers.primary_url).await);
    let settings = [("DATABASE_READ_URL", servers.replica_url.as_str())];
    let app = App::spawn_on(database, Clock::manual(start_of_time()), &settings).await;
    let (owner, site) = site_on(&app).await;
    let (key, pixel) = (owner.key.as_str(), site.pixel_id.as_str());
    for name in ["ann", "bob", "eve"] {
        app.recorded(&site.acceptance(name)).await;
    }
    let items = json!([bound(901, "ann"), bound(902, "bob"), person(903), person(904)]);
    app.store(key, pixel, items).await.expect(200);
    servers.catches_up_with(&app.pool).await;
    servers.pause().await;
    app.recorded(&site.refusal("ann", "withdrawn")).await;
    // Bound after what the replica knows, and withdrawn.
    app.store(key, pixel, json!([bound(903, "eve")])).await.expect(200);
    app.recorded(&site.refusal("eve", "withdrawn")).await;
    let hems = async |query: &str| {
        let page = app.contacts(key, pixel, query).await.expect(200);
        let contacts = page["contacts"].as_array().unwrap().iter();
        contacts.map(|contact| contact["hem"].clone()).collect::<Vec<_>>()
    };
    for query in ["after=0", "changed_after=0", "on=2026-03-10", "on=2026-03-10&limit=9"] {
        assert_eq!(hems(query).await, [json!(hem(902)), json!(hem(904))], "{query}");
    }
    servers.resume().await;
    servers.catches_up_with(&app.pool).await;
    for number in [901, 902, 903, 904] {
        let path = format!("/v1/pixels/{pixel}/contacts/{}", hem(number));
        app.call(reqwest::Method::DELETE, &path, key, Value::Null).await;
    }
    servers.catches_up_with(&app.pool).await;

    // Late by turns.
    let lagging = AtomicBool::new(true);
    let lag = async {
        while lagging.load(Ordering::SeqCst) {
            servers.pause().await;
            tokio::time::sleep(RealTime::from_millis(300)).await;
            servers.resume().await;
            tokio::time::sleep(RealTime::from_millis(50)).await;
        }
    };
    let play = async {
        everybody_at_once(&app, &owner, &site).await;
        lagging.store(false, Ordering::SeqCst);
    };
    join(lag, play).await;
}

/// The knowledge of a reader of changes: of every person the contact and how often it was stored.
type Known = BTreeMap<String, (Value, Value)>;

fn learn(known: &mut Known, page: &Value) {
    for contact in page["contacts"].as_array().unwrap() {
        let name = contact["hem"].as_str().unwrap().to_owned();
        known.insert(name, (contact["contact"].clone(), contact["visits"].clone()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_of_changes_misses_no_update_and_nobody_who_comes_back() {
    const WRITERS: usize = 32;
    const ROUNDS: usize = 6;
    const PEOPLE: usize = 60;
    let app = App::spawn().await;
    let (owner, site) = site_on(&app).await;
    let (key, pixel) = (owner.key.as_str(), site.pixel_id.as_str());
    let writing = AtomicBool::new(true);
    let (app, site) = (&app, &site);
    let write = |writer: usize| async move {
        let name = visitor(writer);
        for round in 0..ROUNDS {
            app.recorded(&site.acceptance(&name)).await;
            let shared = (writer * 7 + round * 11) % PEOPLE;
            // Sizes differ, so that requests that begin together end apart.
            let size = if writer.is_multiple_of(3) { 20 } else { 1 };
            let people = (shared..shared + size).map(
                |number| json!({"hem": hem(number), "contact": {"by": writer, "round": round}}),
            );
            let own = bound(1_000 + writer, &name);
            let own = with(&own, "contact", json!({"by": writer, "round": round}));
            stored(app, key, pixel, people.chain([own]).collect()).await;
            if round + 1 < ROUNDS {
                app.recorded(&site.refusal(&name, "withdrawn")).await;
            }
        }
    };
    let follow = async {
        let (mut cursor, mut known) = (0, Known::new());
        loop {
            // Asked before reading: what was written by then is in this page or a later one.
            let is_last_round = !writing.load(Ordering::SeqCst);
            let query = format!("changed_after={cursor}&limit=40");
            let page = app.contacts(key, pixel, &query).await.expect(200);
            learn(&mut known, &page);
            let high_water = page["changed_high_water"].as_i64().unwrap();
            if is_last_round && high_water == cursor {
                return known;
            }
            assert!(high_water >= cursor);
            cursor = high_water;
        }
    };
    let writers = async {
        join_all((0..WRITERS).map(write)).await;
        writing.store(false, Ordering::SeqCst);
    };
    let (known, ()) = join(follow, writers).await;
    let mut all = Known::new();
    learn(&mut all, &app.contacts(key, pixel, "changed_after=0").await.expect(200));
    assert!(all.len() > PEOPLE, "{}", all.len());
    assert_eq!(known, all);
    let returned = all[&hem(1_000)].clone();
    assert_eq!(returned.1, ROUNDS, "every store was an update of the same contact");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_right_before_the_service_is_killed_is_not_forgotten() {
    let database = Arc::new(TestDatabase::create().await);
    let app = App::spawn_on(Arc::clone(&database), Clock::manual(Clock::System.now()), &[]).await;
    let (owner, site) = site_on(&app).await;
    let mut service = Process::start(program(&database.url)).await;
    app.recorded(&site.acceptance("ann")).await;
    app.store(&owner.key, &site.pixel_id, json!([bound(1, "ann")])).await.expect(200);
    drop(app);
    // Nobody can note it while this lasts.
    let pool = database.pool();
    let mut obstacle = pool.begin().await.unwrap();
    sqlx::query("SELECT FROM pixels FOR UPDATE").execute(&mut *obstacle).await.unwrap();
    let client = crate::support::server::client();
    let choice = site.refusal("ann", "withdrawn");
    let recorded = client.post(service.url("/v1/consent/record")).json(&choice).send().await;
    assert_eq!(recorded.unwrap().status(), 202);
    service.send(Signal::SIGKILL);
    service.exit_code().await;
    let listed = "SELECT count(*) FROM withdrawn_contacts";
    let listed = sqlx::query_scalar::<_, i64>(listed).fetch_one(&pool).await.unwrap();
    assert_eq!(listed, 0, "it was killed before");
    obstacle.rollback().await.unwrap();

    let app = App::spawn_on(Arc::clone(&database), Clock::manual(Clock::System.now()), &[]).await;
    assert_eq!(app.all_contacts(&owner.key, &site.pixel_id).await, Vec::<Value>::new());
    let entries = withdrawn_are(&app, &owner.key, &site, 1).await;
    assert_eq!(entries[0]["hem"], hem(1));
    app.clock.advance(Duration::days(7));
    let started = Instant::now();
    while sqlx::query_scalar::<_, i64>("SELECT count(*) FROM contacts")
        .fetch_one(&pool)
        .await
        .unwrap()
        != 0
    {
        assert!(started.elapsed() < RealTime::from_secs(15), "it is erased");
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
}
