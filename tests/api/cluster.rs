//! What only a cluster can show: a worker that is away, and connections between machines that break.
//! `make test-cluster` runs these; on one PostgreSQL there is nothing to try, and they end at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assent::clock::Clock;
use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::{query, query_scalar};
use url::Url;

use crate::support::App;
use crate::support::cluster::workers;
use crate::support::database::TestDatabase;
use crate::support::outage::Road;
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::visitors::with;

/// A service on a cluster whose first worker is reached by a road, with a site on each worker.
struct Scene {
    app: App,
    road: Road,
    /// Of the worker behind the road.
    far: Site,
    /// Of the other one.
    near: Site,
}

async fn scene() -> Option<Scene> {
    let workers = workers();
    let first = workers.first()?;
    let app = App::spawn().await;
    let road = Road::to(first).await;
    let port = |url: &str| i32::from(Url::parse(url).unwrap().port().unwrap());
    let moved =
        "SELECT citus_update_node(nodeid, 'localhost', $2) FROM pg_dist_node WHERE nodeport = $1";
    let moved = query(moved).bind(port(first)).bind(port(&road.url));
    moved.execute(&app.pool).await.unwrap();
    let mut sites = BTreeMap::new();
    for number in 0..3 {
        let account = app.account(&format!("owner-{number}@cluster.example")).await;
        for host in 0..3 {
            let site = app.consent_site(&account.key, &format!("s{number}-{host}.example")).await;
            sites.insert(port_of(&app, &site.pixel_id).await, site);
        }
    }
    let far = sites.remove(&port(&road.url)).expect("a site on the first worker");
    let near = sites.into_values().next().expect("a site on the second worker");
    Some(Scene { app, road, far, near })
}

/// The port of the worker that has a pixel's rows.
async fn port_of(app: &App, pixel_id: &str) -> i32 {
    let port = "SELECT nodeport::integer FROM citus_shards
        WHERE table_name = 'consent_receipts'::regclass
            AND shardid = get_shard_id_for_distribution_column('consent_receipts', $1)";
    query_scalar(port).bind(pixel_id).fetch_one(&app.pool).await.unwrap()
}

fn choice(number: usize) -> Value {
    json!(format!("0190d9d4-9b6a-7c3e-8a55-{number:012}"))
}

/// Sends it until it is answered with 202.
async fn recorded_at_last(app: &App, body: &Value) -> Value {
    let begun = Instant::now();
    loop {
        let answer = app.record(body).await;
        if answer.status == 202 {
            return answer.json();
        }
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not recover");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What a check says, as soon as it can be answered.
async fn checked_at_last(app: &App, site: &Site, visitor: &str) -> Value {
    let path = format!("/v1/consent/check?pixel_id={}&visitor_id={visitor}", site.pixel_id);
    let begun = Instant::now();
    loop {
        let answer = app.get(&path).await;
        if answer.status == 200 {
            return answer.json();
        }
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not recover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Choices and how many rows there are of each, of a pixel.
async fn copies(app: &App, site: &Site) -> Vec<i64> {
    let copies = "SELECT count(*) FROM consent_receipts WHERE pixel_id = $1 GROUP BY choice_id";
    query_scalar(copies).bind(&site.pixel_id).fetch_all(&app.pool).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_away_is_missed_by_its_own_pixels_only() {
    let Some(Scene { app, road, far, near }) = scene().await else { return };
    app.recorded(&far.acceptance("early")).await;
    app.recorded(&near.acceptance("early")).await;
    road.cut();
    let away =
        |number: usize| with(&far.acceptance(&format!("v{number}")), "choice_id", choice(number));
    let refused = join_all((0..10).map(|number| {
        let (app, body) = (&app, away(number));
        async move { app.record(&body).await }
    }));
    let near_ones = join_all((0..50).map(|number| {
        let (app, body) = (&app, near.acceptance(&format!("v{number}")));
        async move { app.record(&body).await }
    }));
    let (refused, near_ones) = tokio::join!(refused, near_ones);
    assert!(near_ones.iter().all(|answer| answer.status == 202));
    for answer in refused {
        assert_eq!((answer.status, answer.header("retry-after").is_some()), (503, true));
    }
    assert_eq!(checked_at_last(&app, &near, "v7").await["permitted"], true);
    road.mend();
    for number in 0..10 {
        recorded_at_last(&app, &away(number)).await;
    }
    assert_eq!(checked_at_last(&app, &far, "early").await["permitted"], true);
    assert_eq!(copies(&app, &far).await.iter().max(), Some(&1), "nothing is stored twice");
    assert_eq!(copies(&app, &far).await.len(), 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_cut_off_a_withdrawal_that_was_answered_is_known_to_the_next_check() {
    let Some(Scene { app, road, far, .. }) = scene().await else { return };
    for round in 0..60 {
        let visitor = format!("visitor-{round}");
        recorded_at_last(&app, &with(&far.acceptance(&visitor), "choice_id", choice(round))).await;
        let no = with(&far.refusal(&visitor, "withdrawn"), "choice_id", choice(1_000 + round));
        let cutting = async {
            tokio::time::sleep(Duration::from_micros(200 * round as u64)).await;
            road.cut();
            road.mend();
        };
        let (answer, ()) = tokio::join!(app.record(&no), cutting);
        if answer.status == 202 {
            let check = checked_at_last(&app, &far, &visitor).await;
            assert_eq!(check["reason"], "declined_or_withdrawn", "in round {round}");
        }
        let again = recorded_at_last(&app, &no).await;
        if answer.status == 202 {
            assert_eq!(again["receipt_id"], answer.json()["receipt_id"]);
        }
        assert_eq!(checked_at_last(&app, &far, &visitor).await["reason"], "declined_or_withdrawn");
    }
    assert_eq!(copies(&app, &far).await.iter().max(), Some(&1), "nothing is stored twice");
}

/// Records for a pixel until it is told to stop, always a yes and its withdrawal, and checks after each.
/// Gives the receipts that were acknowledged.
async fn visits(app: &App, site: &Site, first: usize, stop: &AtomicBool) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in (first..).take_while(|_| !stop.load(Ordering::Relaxed)) {
        let visitor = format!("visitor-{number}");
        let yes = site.acceptance(&visitor);
        let no = site.refusal(&visitor, "withdrawn");
        for (body, choice, permitted) in
            [(yes, choice(number), true), (no, choice(1_000_000 + number), false)]
        {
            let receipt = recorded_at_last(app, &with(&body, "choice_id", choice)).await;
            acknowledged.push(receipt["receipt_id"].as_str().unwrap().to_owned());
            assert_eq!(checked_at_last(app, site, &visitor).await["permitted"], permitted);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_runs_grows_onto_a_cluster_and_onto_one_worker_more() {
    if workers().is_empty() {
        return;
    }
    let database = Arc::new(TestDatabase::unspread().await);
    let app = App::spawn_on(Arc::clone(&database), Clock::manual(start_of_time()), &[]).await;
    let owner = app.unlimited_account("owner@cluster.example").await;
    let mut sites = Vec::new();
    for number in 0..6 {
        sites.push(app.consent_site(&owner.key, &format!("s{number}.example")).await);
    }
    let stop = AtomicBool::new(false);
    let growing = async {
        database.join_cluster(1).await;
        // Until every connection has heard of it.
        tokio::time::sleep(Duration::from_secs(35)).await;
        database.follow("citus-growing").await;
        database.follow("citus-worker").await;
        stop.store(true, Ordering::Relaxed);
    };
    let all = sites.iter().enumerate();
    let all = join_all(all.map(|(nth, site)| visits(&app, site, 100_000 * nth, &stop)));
    let (acknowledged, ()) = tokio::join!(all, growing);
    let acknowledged = acknowledged.concat().into_iter().collect::<BTreeSet<_>>();
    let stored = "SELECT receipt_id::text FROM consent_receipts";
    let stored = query_scalar::<_, String>(stored).fetch_all(&app.pool).await.unwrap();
    assert_eq!(stored.len(), acknowledged.len(), "nothing is stored twice");
    assert_eq!(stored.into_iter().collect::<BTreeSet<_>>(), acknowledged);
    let machines = "SELECT count(DISTINCT nodeport) FROM citus_shards
        WHERE table_name = 'consent_receipts'::regclass";
    assert_eq!(query_scalar::<_, i64>(machines).fetch_one(&app.pool).await.unwrap(), 2);
}
