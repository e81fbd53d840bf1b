//! Invalidation: a change drops exactly the cached data that it concerns, on every node.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::postgres::PgListener;

use crate::support::process::{program, run, said};
use crate::support::setup::{aliases, create_host};
use crate::support::sites::install::{self, Scene};
use crate::support::{Account, App};

/// Lifetime of cached data without a notification.
const LIFE: Duration = Duration::from_secs(4);

fn policy(controller: &str) -> Value {
    json!({"controller_name": controller, "purposes": ["resolution"]})
}

/// Calls that change nothing: the account's own host again, an install check, the policy in force.
async fn change_nothing(app: &App, account: &Account, pixel: &str) {
    create_host(app, &account.key, "shop.example").await.expect(201);
    install::check(app, &account.key, pixel).await.expect(200);
    app.configure(&account.key, pixel, policy("Shop Ltd")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_of_one_account_keeps_the_cached_tags_of_others() {
    let scene = Scene::new().await;
    let (here, there) = (&scene.app, scene.app.another_node(&[]).await);
    let key = here.account("victim@example.com").await.key;
    let path = format!("/px/{}.js", here.consent_site(&key, "victim.example").await.pixel_id);
    let nodes = [here, &there];
    join_all(nodes.map(App::listens)).await;
    join_all(nodes.map(|node| node.get(&path))).await;
    let misses = || nodes.map(|node| node.lookups("sites", "miss")).iter().sum::<f64>();
    let hits = || nodes.map(|node| node.lookups("sites", "hit")).iter().sum::<f64>();
    let (misses_before, hits_before) = (misses(), hits());

    let (is_over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    let began = Instant::now();
    let attack = async {
        while !is_over.load(Ordering::Relaxed) {
            change_nothing(here, &scene.ann, &scene.pixel).await;
            let name = format!("Shop {}", rounds.fetch_add(1, Ordering::Relaxed));
            here.configure(&scene.ann.key, &scene.pixel, policy(&name)).await.expect(200);
        }
    };
    let visitors = async {
        let visits = async |node: &App| {
            while began.elapsed() < Duration::from_secs(1) || rounds.load(Ordering::Relaxed) < 4 {
                assert_eq!(node.get(&path).await.status, 200);
            }
        };
        join_all(nodes.map(visits)).await;
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(attack, visitors);
    let (missed, hit) = (misses() - misses_before, hits() - hits_before);
    let rounds = rounds.load(Ordering::Relaxed);
    assert!(hit > 50.0, "{rounds} rounds, {hit} hits");
    // Cached data expire after their lifetime.
    let ended = 2.0 * (began.elapsed().as_secs_f64() / LIFE.as_secs_f64()).ceil();
    assert!(missed <= ended, "{missed} lookups of {hit} were read anew in {rounds} rounds");
}

/// The notifications between the nodes.
struct Ear(PgListener);

impl Ear {
    async fn at(app: &App) -> Self {
        let mut listener = PgListener::connect(&app.database.url).await.unwrap();
        listener.listen("assent_changes").await.unwrap();
        Self(listener)
    }

    async fn next(&mut self) -> String {
        let heard = tokio::time::timeout(Duration::from_secs(30), self.0.recv()).await;
        heard.expect("the nodes are told").unwrap().payload().to_owned()
    }
}

#[tokio::test]
async fn nodes_are_notified_of_changes_only() {
    let scene = Scene::new().await;
    let (app, ann, pixel) = (&scene.app, &scene.ann, &scene.pixel);
    app.configure(&ann.key, pixel, policy("Shop Ltd")).await.expect(200);
    let mut ear = Ear::at(app).await;
    let about_pixel = format!("pixel:{pixel}");
    let path = format!("/v1/pixels/{pixel}");
    let consent_path = format!("{path}/consent");
    let off = || app.call(Method::DELETE, &consent_path, &ann.key, Value::Null);

    change_nothing(app, ann, pixel).await;
    app.configure(&ann.key, pixel, policy("Another Ltd")).await.expect(200);
    assert_eq!(ear.next().await, about_pixel, "of the new policy");
    let mut styled = policy("Another Ltd");
    styled["appearance"] = json!({"position": "top"});
    app.configure(&ann.key, pixel, styled.clone()).await.expect(200);
    assert_eq!(ear.next().await, about_pixel, "of the new look");
    app.configure(&ann.key, pixel, styled).await.expect(200);
    off().await.expect(204);
    assert_eq!(ear.next().await, about_pixel, "of the popup turned off");
    off().await.expect(204);
    let rename = |host: &str| {
        let body = json!({"domain": host});
        async move { app.call(Method::PATCH, &format!("/v1/pixels/{pixel}"), &ann.key, body).await }
    };
    rename("shop.example").await.expect(200);
    rename("new.example").await.expect(200);
    assert_eq!(ear.next().await, about_pixel, "of the new name");
    let second = create_host(app, &ann.key, "second.example").await.expect(201);
    let second = second["pixel_id"].as_str().unwrap().to_owned();
    let alias = &aliases(app, &second).await[0];
    assert_eq!(ear.next().await, format!("pixel:{second} pixel:{alias}"));
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    assert_eq!(ear.next().await, about_pixel, "of the deletion");

    app.store_people(&ann.key, &second, 0..499).await.expect(200);
    app.store_people(&ann.key, &second, 499..500).await.expect(200);
    assert_eq!(ear.next().await, format!("account:{}", ann.account_id), "of the pause");
    app.store_people(&ann.key, &second, 0..3).await.expect(200);
    app.call(Method::DELETE, &format!("/v1/pixels/{second}"), &ann.key, Value::Null)
        .await
        .expect(204);
    assert_eq!(ear.next().await, format!("pixel:{second}"), "of the second deletion");
}

#[tokio::test]
async fn a_notification_without_details_invalidates_everything() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let path = format!("/px/{}.js", app.consent_site(&key, "shop.example").await.pixel_id);
    for payload in ["", "a sentence of a later version"] {
        app.get(&path).await;
        let read = app.lookups("sites", "miss");
        let notify = sqlx::query("SELECT pg_notify('assent_changes', $1)").bind(payload);
        notify.execute(&app.pool).await.unwrap();
        let notified_at = Instant::now();
        while app.lookups("sites", "miss") == read {
            assert_eq!(app.get(&path).await.status, 200);
        }
        assert!(notified_at.elapsed() < LIFE, "the node has not heard it: {payload:?}");
    }
}

/// Whether the condition comes true well before a node would look by itself.
async fn soon(condition: impl AsyncFn() -> bool) -> bool {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < 3 * LIFE, "it never comes true");
    }
    began.elapsed() < LIFE / 4
}

#[tokio::test]
async fn every_name_of_a_pixel_follows_its_changes_on_other_nodes() {
    let here = App::spawn().await;
    let there = here.another_node(&[]).await;
    let key = here.account("shop@example.com").await.key;
    let pixel = here.consent_site(&key, "shop0.example").await.pixel_id;
    let alias = aliases(&here, &pixel).await.remove(0);
    let answers = async |pid: &str, host: &str| {
        let path = format!("/external_api/install-pixel/tag-pixel?pid={pid}&host={host}");
        there.get(&path).await.expect(200)["pixel_id"].is_string()
    };
    // A busy machine may need a second for anything, so one of several attempts keeps the promise.
    let mut renamed_soon = false;
    for attempt in 1..6 {
        let (old, new) = (format!("shop{}.example", attempt - 1), format!("shop{attempt}.example"));
        assert!(soon(async || answers(&alias, &old).await && answers(&pixel, &old).await).await);
        let body = json!({"domain": new});
        here.call(Method::PATCH, &format!("/v1/pixels/{pixel}"), &key, body).await.expect(200);
        renamed_soon =
            soon(async || answers(&alias, &new).await && answers(&pixel, &new).await).await;
        if renamed_soon {
            break;
        }
    }
    assert!(renamed_soon, "a rename reaches the alias only after the end of its time");

    let tag = async || there.get(&format!("/px/{alias}.js")).await.status;
    assert_eq!(tag().await, 200);
    let path = format!("/v1/pixels/{pixel}");
    here.call(Method::DELETE, &path, &key, Value::Null).await.expect(204);
    soon(async || tag().await == 404).await;
    // The same name for another pixel.
    let second = here.consent_site(&key, "second.example").await.pixel_id;
    let database = here.database.url.as_str();
    let mut served_soon = false;
    for attempt in 0..5 {
        let name = format!("name-{attempt}");
        there.get(&format!("/px/{name}.js")).await.refused(404, "consent tag not found");
        let mut command = program(database);
        command.args(["alias", &second, &name]);
        assert_eq!(said(&run(command).await).0, Some(0));
        let is_served = async || there.get(&format!("/px/{name}.js")).await.status == 200;
        served_soon = soon(is_served).await;
        if served_soon {
            break;
        }
    }
    assert!(served_soon, "a new alias is unknown until the end of its time");
}
