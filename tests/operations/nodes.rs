//! Several nodes on one database: the same answers, the same limits, and changes that arrive.

use std::time::{Duration, Instant};

use chrono::Duration as BusinessTime;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgPool, Postgres, Transaction};

use crate::support::contacts::person;
use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::statements_that_wait;
use crate::support::postgres::outage::Road;
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::{Answer, App, MailServer, fresh_address};

/// Time within which another node serves a change.
const SOON: Duration = Duration::from_millis(100);
/// Time within which it is served if the notification is lost.
const LATEST: Duration = Duration::from_secs(5);

async fn tag(app: &App, site: &Site) -> String {
    app.get(&format!("/px/{}.js", site.pixel_id)).await.text
}

/// Publishes a policy of this controller, and says how long the other node went on with the old.
async fn delay_of_a_change(
    here: &App,
    there: &App,
    key: &str,
    site: &Site,
    name: &str,
) -> Duration {
    let body = json!({"controller_name": name, "purposes": ["resolution"]});
    here.configure(key, &site.pixel_id, body).await.expect(200);
    let changed = Instant::now();
    while !tag(there, site).await.contains(name) {
        assert!(changed.elapsed() < 2 * LATEST, "the change never arrives");
    }
    changed.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_on_one_node_is_served_by_the_other_within_100_milliseconds() {
    let here = App::spawn().await;
    let there = here.another_node(&[]).await;
    let key = here.account("shop@example.com").await.key;
    let site = here.consent_site(&key, "shop.example").await;
    let mut delays = Vec::new();
    // The tests beside this one may take a moment of the processor.
    while delays.iter().filter(|delay| **delay < SOON).count() < 4 {
        assert!(delays.len() < 25, "{delays:?}");
        tag(&there, &site).await;
        let name = format!("Controller {}", delays.len());
        delays.push(delay_of_a_change(&here, &there, &key, &site, &name).await);
    }
    let path = format!("/px/{}.js", site.pixel_id);
    let mut delays = Vec::new();
    while delays.last().is_none_or(|delay| *delay >= SOON) {
        assert!(delays.len() < 25, "{delays:?}");
        delay_of_a_change(&here, &there, &key, &site, &format!("Again {}", delays.len())).await;
        here.turn_off(&key, &site).await.expect(204);
        let removed = Instant::now();
        while there.get(&path).await.status == 200 {
            assert!(removed.elapsed() < 2 * LATEST, "the tag is served for ever");
        }
        delays.push(removed.elapsed());
    }
    there.get(&path).await.refused(404, "consent tag not found");
}

#[tokio::test]
async fn a_change_is_served_within_five_seconds_when_its_notification_is_lost() {
    // Not on a cluster: it listens to a road that is encrypted there.
    if !workers().is_empty() {
        return;
    }
    let here = App::spawn().await;
    let key = here.account("shop@example.com").await.key;
    let site = here.consent_site(&key, "shop.example").await;
    let road = Road::to(&here.database.url).await;
    let there = here.another_node_by(&road.url).await;
    // Once it hears, the other node is told at once; then it hears nothing more, and does not know.
    let changed = delay_of_a_change(&here, &there, &key, &site, "Heard Ltd").await;
    assert!(changed < LATEST, "{changed:?}");
    road.deafen();
    tag(&there, &site).await;
    let body = json!({"controller_name": "Unheard Ltd", "purposes": ["resolution"]});
    here.configure(&key, &site.pixel_id, body).await.expect(200);
    let changed = Instant::now();
    assert!(!tag(&there, &site).await.contains("Unheard Ltd"), "its listener is not cut off");
    while !tag(&there, &site).await.contains("Unheard Ltd") {
        assert!(changed.elapsed() < LATEST, "the old tag is served for too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(changed.elapsed() > Duration::from_secs(1), "the news arrived after all");
}

#[tokio::test]
async fn an_unknown_id_does_not_reach_the_database_again_and_again() {
    let app = App::spawn().await;
    // The node drops once more all data that it cached before it listened for changes.
    app.listens().await;
    let path = "/external_api/install-pixel/tag-pixel?host=shop.example&pid=unknown";
    app.get("/px/unknown.js").await.refused(404, "consent tag not found");
    sqlx::query("ALTER TABLE pixels RENAME TO out_of_reach").execute(&app.pool).await.unwrap();
    for _ in 0..20 {
        app.get("/px/unknown.js").await.refused(404, "consent tag not found");
        assert_eq!(app.get(path).await.expect(200), json!({"pixel_id": null}));
    }
    app.get("/px/another.js").await.refused(500, "internal error");
}

/// Keeps everybody from the table that is read last for a site.
async fn close_looks(pool: &PgPool) -> Transaction<'static, Postgres> {
    let mut closed = pool.begin().await.unwrap();
    let lock = "LOCK TABLE consent_appearances IN ACCESS EXCLUSIVE MODE";
    sqlx::query(lock).execute(&mut *closed).await.unwrap();
    closed
}

#[tokio::test]
async fn requests_that_miss_a_site_together_read_it_once() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let tags = || join_all((0..50).map(|_| tag(&app, &site)));
    // A pool of the test's own: the service's may be all in use, which is what is tested.
    let pool = PgPool::connect(&app.database.url).await.unwrap();
    let mut closed = close_looks(&pool).await;
    let asking = async {
        // Those who ask after a change do not want what is being read.
        let after_a_change = async {
            tokio::time::sleep(5 * SOON).await;
            let notify = sqlx::query("SELECT pg_notify('assent_changes', 'pixel:' || $1)");
            notify.bind(&site.pixel_id).execute(&pool).await.unwrap();
            tokio::time::sleep(5 * SOON).await;
            tags().await
        };
        tokio::join!(tags(), after_a_change)
    };
    let mut most_readers = 0;
    let letting_pass = async {
        tokio::time::sleep(15 * SOON).await;
        loop {
            // Only looks: what deletes old rows may wait there as well.
            let readers = statements_that_wait(&pool, "SELECT appearance FROM").await;
            most_readers = most_readers.max(readers);
            // The waiting statements may take one step, and then wait again.
            let open = async {
                tokio::time::sleep(3 * SOON).await;
                closed.rollback().await.unwrap();
            };
            (closed, ()) = tokio::join!(close_looks(&pool), open);
            tokio::time::sleep(3 * SOON).await;
        }
    };
    let (before, after) = tokio::select! {
        served = asking => served,
        () = letting_pass => unreachable!("it does not end"),
    };
    assert_eq!(most_readers, 1);
    assert!(before.iter().chain(&after).all(|tag| tag.contains(&site.pixel_id)));
}

#[tokio::test]
async fn two_nodes_give_the_same_answers() {
    let one = App::spawn().await;
    let two = one.another_node(&[("BASE_URL", &one.base)]).await;
    let key = one.account("shop@example.com").await.key;
    let site = two.consent_site(&key, "shop.example").await;
    one.recorded(&site.acceptance("ann")).await;
    two.recorded(&site.refusal("bob", "declined")).await;
    let (pixel, host) = (&site.pixel_id, &site.domain);
    for path in [
        format!("/v1/consent/check?pixel_id={pixel}&visitor_id=ann&required_purpose=resolution"),
        format!("/v1/consent/check?pixel_id={pixel}&visitor_id=bob"),
        format!("/v1/consent/receipt?pixel_id={pixel}&visitor_id=ann"),
        format!("/external_api/install-pixel/tag-pixel?pid={pixel}&host={host}"),
        format!("/px/{pixel}.js"),
        format!("/v1/policy/{pixel}"),
    ] {
        let (first, second) = (one.get(&path).await, two.get(&path).await);
        assert_eq!((first.status, &first.text), (second.status, &second.text), "{path}");
    }
    // An answer of one node holds at the other at once, in the order of the answers.
    for turn in 0..10 {
        let (writer, reader) = if turn % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let state = if turn % 3 == 0 { "declined" } else { "withdrawn" };
        let saved = writer.recorded(&site.refusal("cid", state)).await;
        assert_eq!(reader.check(pixel, "cid").await["receipt_id"], saved["receipt_id"]);
    }
}

#[tokio::test]
async fn a_choice_that_is_repeated_at_another_node_gets_its_first_receipt() {
    let one = App::spawn().await;
    let two = one.another_node(&[]).await;
    let key = one.account("shop@example.com").await.key;
    let site = one.consent_site(&key, "shop.example").await;
    let mut choice = site.acceptance("ann");
    choice["choice_id"] = json!("0192f0c1-2b7e-7c4e-9d0a-1f2e3d4c5b6a");
    let answers = join_all((0..20).map(|turn| [&one, &two][turn % 2].record(&choice))).await;
    let ids = answers.iter().map(|answer| answer.expect(202)["receipt_id"].clone());
    let ids = ids.collect::<Vec<_>>();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let stored = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM consent_receipts");
    assert_eq!(stored.fetch_one(&one.pool).await.unwrap(), 1);
}

#[tokio::test]
async fn the_pauses_between_mails_hold_across_nodes() {
    let one = App::spawn_with_mail().await;
    let two = one.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let email = fresh_address("ann");
    let opened = one.sign_up(&email).await;
    let (id, token) = (opened["account_id"].as_str().unwrap(), &opened["signup_token"]);
    let again = async |app: &App| {
        let path = format!("/v1/accounts/{id}/verification-email");
        let request = app.request(Method::POST, &path);
        Answer::of(request.header("x-signup-token", token.as_str().unwrap())).await
    };
    let code = async |app: &App| app.post("/v1/signup/resend-code", json!({"email": email})).await;
    let too_soon = "wait before sending the confirmation email again";
    again(&two).await.refused(429, too_soon);
    code(&two).await.refused(429, "wait before sending the confirmation code again");
    one.clock.advance(BusinessTime::minutes(1));
    again(&one).await.expect(200);
    again(&two).await.refused(429, too_soon);
    for turn in 0..5 {
        one.clock.advance(BusinessTime::minutes(1));
        code([&one, &two][turn % 2]).await.expect(200);
    }
    one.clock.advance(BusinessTime::minutes(1));
    code(&one).await.refused(429, "too many codes today");
    code(&two).await.refused(429, "too many codes today");
}

#[tokio::test]
async fn a_snippet_is_mailed_once_in_ten_minutes_whichever_node_is_asked() {
    let settings = [("SMTP_URL", MailServer::shared().url.as_str())];
    let one = App::spawn().await;
    let (owner, pixel) = one.shop().await;
    let (one, two) = (one.another_node(&settings).await, one.another_node(&settings).await);
    let path = format!("/v1/pixels/{pixel}/email-snippet");
    let body = json!({"email": fresh_address("developer")});
    let send = async |app: &App| app.call(Method::POST, &path, &owner.key, body.clone()).await;
    let (first, second) = tokio::join!(send(&one), send(&two));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 429]);
    one.clock.advance(BusinessTime::minutes(10));
    send(&two).await.expect(200);
    send(&one).await.refused(429, "wait before sending the snippet again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_allowances_hold_across_nodes() {
    let one = App::spawn().await;
    let two = one.another_node(&[]).await;
    let (ann, pixel) = one.shop().await;
    let nodes = [&one, &two];
    let create = |turn: usize| {
        let body = json!({"domain": format!("shop{turn}.example")});
        let (node, key) = (nodes[turn % 2], &ann.key);
        async move { node.call(Method::POST, "/v1/pixels", key, body).await }
    };
    let created = join_all((0..8).map(create)).await;
    assert_eq!(created.iter().filter(|answer| answer.status == 201).count(), 2);
    let full = created.iter().filter(|answer| answer.status != 201);
    full.for_each(|answer| answer.refused(403, "pixel allowance reached"));

    let store = |turn: usize| {
        let people = (turn * 60..(turn + 1) * 60).map(person).collect::<Value>();
        let (node, key, pixel) = (nodes[turn % 2], &ann.key, &pixel);
        async move { node.store(key, pixel, people).await }
    };
    let stored = join_all((0..12).map(store)).await;
    assert_eq!(stored.iter().filter(|answer| answer.status == 200).count(), 8);
    let full = stored.iter().filter(|answer| answer.status != 200);
    full.for_each(|answer| answer.refused(403, "contact allowance reached"));
    assert_eq!(one.clock.now().date_naive(), start_of_time().date_naive());
    let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM contacts");
    assert_eq!(rows.fetch_one(&one.pool).await.unwrap(), 480);
}
