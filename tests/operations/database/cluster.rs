//! Unavailable workers, and broken connections between the machines of a cluster. `make test-cluster`
//! runs these tests; on one PostgreSQL they end at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, query, query_scalar};
use url::Url;

use crate::support::App;
use crate::support::contacts::hem;
use crate::support::postgres::cluster::{at, workers};
use crate::support::postgres::outage::Road;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::{checked_at_last, choice, recorded_at_last, with};

/// Moments at which connections are cut, one after the other.
const ROUNDS: usize = 60;

/// A service on a cluster whose first worker is reached by a road, with a site on each worker.
struct Scene {
    app: App,
    road: Road,
    /// Of the worker behind the road, and its owner's key.
    far: Site,
    far_owner: String,
    /// Of the other one.
    near: Site,
}

async fn scene() -> Option<Scene> {
    scene_with(&[]).await
}

async fn scene_with(settings: &[(&str, &str)]) -> Option<Scene> {
    let workers = workers();
    let first = workers.first()?;
    let app = App::spawn_with(settings).await;
    let road = Road::to(first).await;
    let port = |url: &str| i32::from(Url::parse(url).unwrap().port().unwrap());
    let moved =
        "SELECT citus_update_node(nodeid, 'localhost', $2) FROM pg_dist_node WHERE nodeport = $1";
    let moved = query(moved).bind(port(first)).bind(port(&road.url));
    moved.execute(&app.pool).await.unwrap();
    let mut sites = BTreeMap::new();
    // The shard of a pixel is random.
    for number in 0..20 {
        if sites.len() == workers.len() {
            break;
        }
        let account = app.account(&format!("owner-{number}@cluster.example")).await;
        for host in 0..3 {
            let site = app.consent_site(&account.key, &format!("s{number}-{host}.example")).await;
            sites.insert(port_of(&app, &site.pixel_id).await, (site, account.key.clone()));
        }
    }
    let (far, far_owner) = sites.remove(&port(&road.url)).expect("a site on the first worker");
    let (near, _) = sites.into_values().next().expect("a site on the second worker");
    Some(Scene { app, road, far, far_owner, near })
}

/// The port of the worker that has a pixel's rows.
async fn port_of(app: &App, pixel_id: &str) -> i32 {
    let port = "SELECT nodeport::integer FROM citus_shards
        WHERE table_name = 'consent_receipts'::regclass
            AND shardid = get_shard_id_for_distribution_column('consent_receipts', $1)";
    query_scalar(port).bind(pixel_id).fetch_one(&app.pool).await.unwrap()
}

/// The number of the part in which a pixel lies.
async fn part_of(app: &App, pixel_id: &str) -> i64 {
    let part = "SELECT get_shard_id_for_distribution_column('consent_receipts', $1)";
    query_scalar(part).bind(pixel_id).fetch_one(&app.pool).await.unwrap()
}

/// The address of the worker that has a part.
async fn host_of(app: &App, part: i64) -> String {
    let port = "SELECT nodeport::integer FROM citus_shards WHERE shardid = $1";
    let port = query_scalar::<_, i32>(port).bind(part).fetch_one(&app.pool).await.unwrap();
    let database = query_scalar::<_, String>("SELECT current_database()");
    let database = database.fetch_one(&app.pool).await.unwrap();
    let has_port = |url: &String| Url::parse(url).unwrap().port() == u16::try_from(port).ok();
    at(&workers().into_iter().find(has_port).expect("a worker with this port"), &database)
}

/// Choices and how many rows there are of each, of a pixel.
async fn copies(app: &App, site: &Site) -> Vec<i64> {
    let copies = "SELECT count(*) FROM consent_receipts WHERE pixel_id = $1 GROUP BY choice_id";
    query_scalar(copies).bind(&site.pixel_id).fetch_all(&app.pool).await.unwrap()
}

/// Waits until no machine has a transaction that is prepared and neither committed nor undone.
async fn nothing_is_in_doubt(app: &App) {
    let database = query_scalar::<_, String>("SELECT current_database()");
    let database = database.fetch_one(&app.pool).await.unwrap();
    let begun = Instant::now();
    for worker in workers() {
        let mut connection = PgConnection::connect(&at(&worker, &database)).await.unwrap();
        let open = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()";
        while query_scalar::<_, i64>(open).fetch_one(&mut connection).await.unwrap() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(30), "it stays in doubt");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unavailable_worker_affects_only_its_own_pixels() {
    let Some(Scene { app, road, far, near, .. }) = scene().await else { return };
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
    nothing_is_in_doubt(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_shard_delays_only_its_own_pixels() {
    if workers().is_empty() {
        return;
    }
    let app = App::spawn().await;
    let owner = app.unlimited_account("many@cluster.example").await;
    let mut sites = BTreeMap::<i64, Vec<Site>>::new();
    for number in 0..16 {
        let site = app.consent_site(&owner.key, &format!("part-{number}.example")).await;
        sites.entry(part_of(&app, &site.pixel_id).await).or_default().push(site);
    }
    assert!(sites.len() > 1, "there are pixels of several parts");
    let (part, slow) = sites.pop_first().unwrap();
    let worker = host_of(&app, part).await;
    let mut lock = PgConnection::connect(&worker).await.unwrap();
    let locking = format!(
        "SET citus.enable_manual_changes_to_shards = on;
         BEGIN; LOCK TABLE consent_receipts_{part} IN ACCESS EXCLUSIVE MODE"
    );
    lock.execute(AssertSqlSafe(locking)).await.unwrap();
    let (app, quick) = (&app, sites.into_values().flatten().collect::<Vec<_>>());
    let waiting =
        join_all(slow.iter().map(|site| async { app.record(&site.acceptance("v")).await }));
    let others = async {
        // They have reached the part that is held up.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut longest = Duration::ZERO;
        for site in &quick {
            let begun = Instant::now();
            app.recorded(&site.acceptance("v")).await;
            assert_eq!(app.check(&site.pixel_id, "v").await["permitted"], true);
            longest = longest.max(begun.elapsed());
        }
        longest
    };
    let (refused, longest) = tokio::join!(waiting, others);
    assert!(refused.iter().all(|answer| answer.status == 503));
    // Requests for the blocked shard wait for four seconds.
    assert!(longest < Duration::from_secs(2), "{longest:?} of {} pixels", quick.len());
    lock.execute("ROLLBACK").await.unwrap();
    for site in &slow {
        recorded_at_last(app, &site.acceptance("v")).await;
    }
}

/// A check by a name that was a pixel's before.
const BY_NAME: &str = "/v1/consent/check?pixel_id=px_name&visitor_id=v";

/// From now on the name is this pixel's.
async fn give_name(app: &App, site: &Site) {
    let named = "INSERT INTO pixel_aliases (alias, pixel_id) VALUES ('px_name', $1)
        ON CONFLICT (alias) DO UPDATE SET pixel_id = EXCLUDED.pixel_id";
    query(named).bind(&site.pixel_id).execute(&app.pool).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alias_that_moves_to_another_pixel_is_read_from_its_shard_at_once() {
    let Some(Scene { app, road: _road, far, near, .. }) = scene().await else { return };
    recorded_at_last(&app, &far.acceptance("v")).await;
    recorded_at_last(&app, &near.refusal("v", "declined")).await;
    // Others' questions are under way with it in the same batches.
    for (site, permitted) in [(&far, true), (&near, false), (&far, true)] {
        give_name(&app, site).await;
        let checks = (0..20).map(async |number| {
            let direct = format!("/v1/consent/check?pixel_id={}&visitor_id=v", far.pixel_id);
            let is_direct = number % 2 == 0;
            let answer = app.get(if is_direct { &direct } else { BY_NAME }).await.expect(200);
            assert_eq!(answer["permitted"], is_direct || permitted, "{answer}");
            let meant = if is_direct { &far } else { site };
            assert_eq!(answer["receipt"]["pixel_id"], *meant.pixel_id);
        });
        join_all(checks).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alias_that_moves_to_a_blocked_shard_delays_the_other_once_at_most() {
    let Some(Scene { app, road, far, near, .. }) = scene().await else { return };
    recorded_at_last(&app, &near.acceptance("v")).await;
    give_name(&app, &near).await;
    assert_eq!(app.get(BY_NAME).await.expect(200)["permitted"], true);
    road.stall();
    give_name(&app, &far).await;
    app.get(BY_NAME).await.expect(503);
    let by_name = join_all((0..20).map(|_| async { app.get(BY_NAME).await }));
    let others = async {
        // The requests have reached the stalled road.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let begun = Instant::now();
        assert_eq!(app.check(&near.pixel_id, "v").await["permitted"], true);
        begun.elapsed()
    };
    let (refused, waited) = tokio::join!(by_name, others);
    assert!(refused.iter().all(|answer| answer.status == 503));
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    road.mend();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_withdrawal_is_known_to_the_next_check_when_connections_break() {
    let Some(scene) = scene().await else { return };
    cut_off_everywhere(&scene).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_that_endpoints_are_notified_of_is_known_to_the_next_check_too() {
    let Some(scene) = scene().await else { return };
    let endpoint = json!({"url": "https://hooks.example/a", "events": ["choice.recorded"]});
    let owner = &scene.far_owner;
    scene.app.call(Method::POST, "/v1/webhooks", owner, endpoint).await.expect(201);
    cut_off_everywhere(&scene).await;
    let sent = "SELECT (subject ->> 'seq')::bigint FROM webhook_deliveries";
    let sent = query_scalar::<_, i64>(sent).fetch_all(&scene.app.pool).await.unwrap();
    let stored = query_scalar::<_, i64>("SELECT seq FROM consent_receipts");
    let stored = stored.fetch_all(&scene.app.pool).await.unwrap();
    let sent = sent.into_iter().collect::<BTreeSet<_>>();
    assert!(stored.len() >= 120 && stored.iter().all(|seq| sent.contains(seq)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_that_comes_into_the_log_is_known_to_the_next_check_too_and_can_be_proved() {
    let Some(scene) = scene_with(&[LOG_KEY]).await else { return };
    cut_off_everywhere(&scene).await;
    let mut proofs = Vec::new();
    for round in 0..ROUNDS {
        proofs.push(scene.app.proof(&scene.far, &format!("visitor-{round}")).await);
    }
    let log = proofs[ROUNDS - 1].log(&scene.app.client, &scene.app.base).await;
    let positions = proofs.iter().map(|proof| proof.position(&log)).collect::<BTreeSet<_>>();
    assert_eq!(positions.len(), ROUNDS);
}

/// Withdrawals whose connection to the worker is cut at one moment after the other.
async fn cut_off_everywhere(Scene { app, road, far, .. }: &Scene) {
    for round in 0..ROUNDS {
        let visitor = format!("visitor-{round}");
        recorded_at_last(app, &with(&far.acceptance(&visitor), "choice_id", choice(round))).await;
        let no = with(&far.refusal(&visitor, "withdrawn"), "choice_id", choice(1_000 + round));
        let cutting = async {
            tokio::time::sleep(Duration::from_micros(200 * round as u64)).await;
            road.cut();
            road.mend();
        };
        let (answer, ()) = tokio::join!(app.record(&no), cutting);
        if answer.status == 202 {
            let check = checked_at_last(app, far, &visitor).await;
            assert_eq!(check["reason"], "declined_or_withdrawn", "in round {round}");
        }
        let again = recorded_at_last(app, &no).await;
        if answer.status == 202 {
            assert_eq!(again["receipt_id"], answer.json()["receipt_id"]);
        }
        assert_eq!(checked_at_last(app, far, &visitor).await["reason"], "declined_or_withdrawn");
    }
    assert_eq!(copies(app, far).await.iter().max(), Some(&1), "nothing is stored twice");
    nothing_is_in_doubt(app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_contacts_survive_broken_connections_and_none_is_left_in_doubt() {
    let Some(Scene { app, road, far, far_owner, .. }) = scene().await else { return };
    let mut taken = BTreeSet::new();
    for round in 0..40 {
        let people = 3 * round..3 * round + 3;
        let cutting = async {
            tokio::time::sleep(Duration::from_micros(500 * round as u64)).await;
            road.cut();
            road.mend();
        };
        let storing = app.store_people(&far_owner, &far.pixel_id, people.clone());
        let (answer, ()) = tokio::join!(storing, cutting);
        assert!(matches!(answer.status, 200 | 503), "{}: {}", answer.status, answer.text);
        if answer.status == 200 {
            taken.extend(people.map(hem));
        }
    }
    nothing_is_in_doubt(&app).await;
    let stored = query_scalar::<_, String>("SELECT encode(hem, 'hex') FROM contacts");
    let stored = stored.fetch_all(&app.pool).await.unwrap();
    let kept = stored.iter().cloned().collect::<BTreeSet<_>>();
    assert!(
        taken.is_subset(&kept) && stored.len() == kept.len(),
        "{} of {}",
        kept.len(),
        taken.len()
    );
}
