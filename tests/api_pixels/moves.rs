//! Moves of sites to other domains.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::scheduled_install_checks::{Looks, tag as immediate_tag};
use crate::support::setup::{create_host, field_names, set_install_status, shown};
use crate::support::sites::claims::{HOST, Scene, tag};
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::waiting::wait_until;
use crate::support::{Account, Answer, App};

const OLD: &str = "shop.example";
const NEW: &str = "new.example";

async fn moved(app: &App, key: &str, pixel: &str, domain: &str) -> Answer {
    let path = format!("/v1/pixels/{pixel}/move");
    app.call(Method::POST, &path, key, json!({"domain": domain})).await
}

async fn post(app: &App, key: &str, pixel: &str, rest: &str) -> Answer {
    app.call(Method::POST, &format!("/v1/pixels/{pixel}/move{rest}"), key, Value::Null).await
}

async fn show(app: &App, key: &str, pixel: &str) -> Answer {
    app.call(Method::GET, &format!("/v1/pixels/{pixel}/move"), key, Value::Null).await
}

async fn versions(app: &App, key: &str, pixel: &str) -> Value {
    let path = format!("/v1/pixels/{pixel}/consent/configuration");
    app.call(Method::GET, &path, key, Value::Null).await.expect(200)["versions"].clone()
}

async fn notice(app: &App, pixel: &str) -> String {
    let request = app.request(Method::GET, &format!("/v1/policy/{pixel}"));
    let page = Answer::of(request.header("accept", "text/plain")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.text
}

/// The same site at another domain.
fn at(site: &Site, domain: &str) -> Site {
    Site {
        pixel_id: site.pixel_id.clone(),
        policy_hash: site.policy_hash.clone(),
        domain: domain.to_owned(),
    }
}

/// A service, an account with an installed site at `shop.example`, and another account.
async fn scene() -> (App, Account, Account, Site) {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let site = app.consent_site(&ann.key, OLD).await;
    set_install_status(&app, &site.pixel_id, "installed").await;
    (app, ann, eve, site)
}

#[tokio::test]
async fn an_installed_site_moves_and_keeps_its_history() {
    let (app, ann, eve, site) = scene().await;
    let pixel = &site.pixel_id;
    let earlier = app.recorded(&site.acceptance("visitor-1")).await;
    app.store_people(&ann.key, pixel, 0..2).await.expect(200);
    let before = shown(&app, &ann.key, pixel).await;
    let answer = moved(&app, &ann.key, pixel, "https://www.New.example").await.expect(201);
    let names = ["domain", "ends_at", "former_domain", "moved_at", "pixel_id"];
    assert_eq!(field_names(&answer), names);
    assert_eq!([&answer["domain"], &answer["former_domain"]], [NEW, OLD]);
    assert_eq!(answer["ends_at"], "2026-04-09T12:00:00.000Z");
    assert_eq!(show(&app, &ann.key, pixel).await.expect(200), answer);
    let after = shown(&app, &ann.key, pixel).await;
    assert_eq!([&after["domain"], &after["install_status"]], [NEW, "not_checked"]);
    assert_eq!([&after["snippet"], &after["checked_at"]], [&before["snippet"], &Value::Null]);

    // Visitors of both domains choose, and the visitor of the former one withdraws.
    let there = at(&site, NEW);
    app.recorded(&there.acceptance("visitor-2")).await;
    assert_eq!(app.check(pixel, "visitor-1").await["reason"], "ok", "the hash is the same");
    app.recorded(&site.refusal("visitor-1", "withdrawn")).await;
    assert_eq!(app.check(pixel, "visitor-1").await["reason"], "declined_or_withdrawn");
    let named = format!("/external_api/install-pixel/tag-pixel?pid={pixel}&host=www.{OLD}");
    assert_eq!(app.get(&named).await.expect(200)["pixel_id"], json!(pixel));
    let log = app.log(&ann.key, pixel).await;
    let origins = log.iter().map(|event| event["origin"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(origins, ["https://shop.example", "https://new.example", "https://shop.example"]);
    assert_eq!(earlier["receipt"]["origin"], "https://shop.example");
    assert!(app.verifies(&earlier["receipt"], earlier["signature"].as_str().unwrap()).await);
    let contacts = format!("/v1/pixels/{pixel}/contacts?after=0");
    let contacts = app.call(Method::GET, &contacts, &ann.key, Value::Null).await.expect(200);
    assert_eq!(contacts["contacts"].as_array().unwrap().len(), 2);

    // The notice names the domain, so there is a second version of the same text.
    let versions = versions(&app, &ann.key, pixel).await;
    let numbers = versions.as_array().unwrap().iter().map(|it| it["policy_version"].clone());
    assert_eq!(numbers.collect::<Vec<_>>(), [2, 1]);
    assert_eq!(versions[0]["policy_hash"], versions[1]["policy_hash"]);
    assert!(notice(&app, pixel).await.contains(NEW));
    let path = "/v1/account/events";
    let events = app.call(Method::GET, path, &ann.key, Value::Null).await.expect(200);
    let events = events["events"].as_array().unwrap().clone();
    let is_noted = |kind: &str| events.iter().any(|event| event["kind"] == kind);
    assert!(is_noted("pixel_moved") && is_noted("policy_published"), "{events:?}");
    let export = app.call(Method::GET, "/v1/account/export", &ann.key, Value::Null).await;
    assert!(export.text.contains("\"record\":\"site_move\""), "{}", export.text);

    for rest in ["", "/end", "/cancel"] {
        let path = format!("/v1/pixels/{pixel}/move{rest}");
        let refused = app.call(Method::POST, &path, &eve.key, json!({"domain": "e.example"})).await;
        refused.refused(404, "pixel not found");
    }
    show(&app, &eve.key, pixel).await.refused(404, "pixel not found");
}

#[tokio::test]
async fn the_former_domain_is_served_and_reserved_until_the_move_ends() {
    let (app, ann, eve, site) = scene().await;
    let (pixel, there) = (&site.pixel_id, at(&site, NEW));
    moved(&app, &ann.key, pixel, NEW).await.expect(201);
    create_host(&app, &eve.key, OLD).await.refused(409, "domain already registered");
    create_host(&app, &eve.key, NEW).await.refused(409, "domain already registered");
    create_host(&app, &ann.key, OLD).await.refused(409, "a move is under way");
    moved(&app, &ann.key, pixel, "third.example").await.refused(409, "a move is under way");
    let rename = json!({"domain": "third.example"});
    let path = format!("/v1/pixels/{pixel}");
    app.call(Method::PATCH, &path, &ann.key, rename).await.refused(409, "a move is under way");
    let test_hosts = json!({"controller_name": "Eve", "purposes": ["analytics"],
        "test_hosts": [format!("staging.{OLD}")]});
    let eves = app.pixel(&eve.key, "eve.example").await;
    app.configure(&eve.key, &eves, test_hosts).await.refused(400, "invalid request");

    app.clock.advance(Duration::days(30) - Duration::seconds(1));
    app.recorded(&site.refusal("visitor-1", "declined")).await;
    app.clock.advance(Duration::seconds(1));
    let late = app.record(&site.refusal("visitor-2", "declined")).await.expect(403);
    assert_eq!([&late["reason"], &late["domain"]], ["site_mismatch", NEW]);
    app.recorded(&there.refusal("visitor-2", "declined")).await;
    show(&app, &ann.key, pixel).await.refused(404, "no move is under way");
    post(&app, &ann.key, pixel, "/cancel").await.refused(404, "no move is under way");
    create_host(&app, &eve.key, OLD).await.expect(201);
    app.clock.advance(Duration::minutes(2));
    let left = "SELECT count(*) FROM site_moves";
    let is_over =
        async || sqlx::query_scalar::<_, i64>(left).fetch_one(&app.pool).await.unwrap() == 0;
    wait_until("the move is over", is_over).await;
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200)["events"].as_array().unwrap().clone();
    let ended = events.iter().find(|event| event["kind"] == "move_ended").unwrap();
    assert_eq!([&ended["actor"], &ended["subject"]], ["service", pixel.as_str()]);
}

#[tokio::test]
async fn a_move_is_ended_or_cancelled_by_its_owner() {
    let (app, ann, eve, site) = scene().await;
    let (pixel, there) = (&site.pixel_id, at(&site, NEW));
    for rest in ["/end", "/cancel"] {
        post(&app, &ann.key, pixel, rest).await.refused(404, "no move is under way");
    }
    moved(&app, &ann.key, pixel, NEW).await.expect(201);
    app.recorded(&there.acceptance("visitor-1")).await;
    let back = post(&app, &ann.key, pixel, "/cancel").await.expect(200);
    assert_eq!([&back["domain"], &back["install_status"]], [OLD, "not_checked"]);
    app.record(&there.refusal("visitor-1", "withdrawn")).await.expect(403);
    app.recorded(&site.refusal("visitor-2", "declined")).await;
    assert_eq!(app.log(&ann.key, pixel).await.len(), 2);
    assert!(notice(&app, pixel).await.contains(OLD));
    create_host(&app, &eve.key, NEW).await.expect(201);

    moved(&app, &ann.key, pixel, NEW).await.refused(409, "domain already registered");
    moved(&app, &ann.key, pixel, OLD).await.refused(409, "that host is yours already");
    moved(&app, &ann.key, pixel, "third.example").await.expect(201);
    let ended = post(&app, &ann.key, pixel, "/end").await.expect(200);
    assert_eq!(ended["domain"], "third.example");
    app.record(&site.refusal("visitor-3", "declined")).await.expect(403);
    create_host(&app, &eve.key, OLD).await.expect(201);
}

#[tokio::test]
async fn a_key_without_the_full_scope_sees_a_move_and_makes_none() {
    let (app, ann, _, site) = scene().await;
    let pixel = &site.pixel_id;
    moved(&app, &ann.key, pixel, NEW).await.expect(201);
    for scope in ["read", "operate"] {
        let body = json!({"scope": scope});
        let issued = app.call(Method::POST, "/v1/api-keys", &ann.key, body).await.expect(201);
        let key = issued["api_key"].as_str().unwrap();
        show(&app, key, pixel).await.expect(200);
        let refusal = "key scope does not allow this";
        moved(&app, key, pixel, "third.example").await.refused(403, refusal);
        post(&app, key, pixel, "/end").await.refused(403, refusal);
        post(&app, key, pixel, "/cancel").await.refused(403, refusal);
    }
}

#[tokio::test]
async fn of_requests_for_a_domain_at_once_one_gets_it() {
    let app = App::spawn().await;
    let mut sites = Vec::new();
    for number in 0..6 {
        let account = app.account(&format!("a{number}@example.com")).await;
        let pixel = app.pixel(&account.key, &format!("s{number}.example")).await;
        sites.push((account.key, pixel));
    }
    let eve = app.account("eve@example.com").await;
    let moves = sites.iter().map(|(key, pixel)| moved(&app, key, pixel, NEW));
    let (mut answers, created) = tokio::join!(join_all(moves), create_host(&app, &eve.key, NEW));
    answers.push(created);
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        refused.refused(409, "domain already registered");
    }
    // Of two moves of one pixel, one is made.
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, OLD).await;
    let (one, two) = tokio::join!(
        moved(&app, &ann.key, &pixel, "one.example"),
        moved(&app, &ann.key, &pixel, "two.example"),
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409], "{} {}", one.text, two.text);
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer() {
    let (app, ann, _, site) = scene().await;
    let send = async || {
        let path = format!("/v1/pixels/{}/move", site.pixel_id);
        let request = app.request(Method::POST, &path).bearer_auth(&ann.key);
        let request = request.header("Idempotency-Key", "move-1");
        Answer::of(request.json(&json!({"domain": NEW}))).await
    };
    let first = send().await.expect(201);
    let again = send().await;
    assert_eq!(again.expect(201), first);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}

#[tokio::test]
async fn an_own_site_that_was_never_set_up_is_replaced_and_no_other() {
    let (app, ann, _, site) = scene().await;
    let spare = app.pixel(&ann.key, NEW).await;
    app.consent_site(&ann.key, "used.example").await;
    let used = moved(&app, &ann.key, &site.pixel_id, "used.example").await;
    used.refused(409, "that host is yours already");
    moved(&app, &ann.key, &site.pixel_id, NEW).await.expect(201);
    let path = format!("/v1/pixels/{spare}");
    app.call(Method::GET, &path, &ann.key, Value::Null).await.refused(404, "pixel not found");
}

#[tokio::test]
async fn the_owner_of_a_former_domain_claims_it_unless_the_tag_still_runs_there() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    moved(app, &stranger.key, pixel, NEW).await.expect(201);
    let opened = scene.opened(owner).await;
    scene.publish(&opened.token);
    scene.shows(&tag(app, pixel));
    scene.verify(owner, &opened.token).await.refused(409, "that pixel is working");
    show(app, &stranger.key, pixel).await.expect(200);
    scene.shows("<p>sold");
    let taken = scene.verify(owner, &opened.token).await.expect(200);
    assert_eq!([&taken["pixel_id"], &taken["domain"]], [opened.pixel.as_str(), HOST]);
    show(app, &stranger.key, pixel).await.refused(404, "no move is under way");
    assert_eq!(shown(app, &stranger.key, pixel).await["domain"], NEW);
}

#[tokio::test]
async fn the_new_domain_is_looked_at_until_the_snippet_is_found() {
    let looks = Looks::of(&[OLD, NEW], &[]).await;
    let (app, key) = (&looks.app, &looks.ann.key);
    let pixel = looks.installed(OLD).await;
    moved(app, key, &pixel, NEW).await.expect(201);
    looks.shows(NEW, "<p>not yet");
    app.clock.advance(Duration::minutes(2));
    let is_looked_at = async || looks.state(&pixel).await["checked_at"] != Value::Null;
    wait_until("the first look", is_looked_at).await;
    assert_eq!(looks.state(&pixel).await["install_status"], "not_checked");
    looks.shows(NEW, &immediate_tag(app, &pixel));
    let state = looks.day(&pixel).await;
    assert_eq!([&state["domain"], &state["install_status"]], [NEW, "installed"]);
}

#[tokio::test]
async fn a_shared_choice_is_shared_on_both_domains_while_the_site_moves() {
    let (app, ann, _, site) = scene().await;
    let pixel = &site.pixel_id;
    let sharing = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    let sharing = with(&sharing, "share_subdomains", json!(true));
    app.configure(&ann.key, pixel, sharing).await.expect(200);
    let script = async || app.get(&format!("/px/{pixel}.js")).await.text;
    assert!(script().await.contains("\"share\":\"shop.example\""));
    moved(&app, &ann.key, pixel, NEW).await.expect(201);
    assert!(script().await.contains("\"share\":\"new.example,shop.example\""));
    post(&app, &ann.key, pixel, "/end").await.expect(200);
    assert!(script().await.contains("\"share\":\"new.example\""));
}
