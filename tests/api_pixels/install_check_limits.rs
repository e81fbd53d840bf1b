//! Install checks that wait for each other, and how many an account may request.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::App;
use crate::support::setup::{set_install_status, shown};
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::sites::install::{Scene, check, installed, not_installed};
use crate::support::tools::{call, refused};
use crate::support::waiting::wait_until;

#[tokio::test]
async fn checks_that_wait_hold_no_connection_to_the_database() {
    let scene = Scene::new().await;
    let operator = scene.app.unlimited_account("operator@example.com").await;
    scene.site.answer("shop.example/", Reply::late(Duration::from_secs(2), Reply::page("")));
    // More than the pool has connections.
    let checks = (0..30).map(|_| check(&scene.app, &operator.key, &scene.pixel));
    let checks = futures_util::future::join_all(checks);
    let meanwhile = async {
        wait_until("the pages are asked for", async || scene.site.seen().len() >= 30).await;
        let started = Instant::now();
        shown(&scene.app, &scene.ann.key, &scene.pixel).await;
        started.elapsed()
    };
    let (checked, took) = tokio::join!(checks, meanwhile);
    assert!(took < Duration::from_secs(2), "{took:?}");
    checked.iter().for_each(|answer| not_installed(&answer.expect(200)));
}

#[tokio::test]
async fn many_checks_of_one_account_leave_permits_for_the_others() {
    let hosts = ["shop.example", "slow.example"];
    let site = HttpsSite::start(&hosts).await;
    let resolve = site.resolve(&hosts);
    let settings =
        [("INSTALL_CHECK_RESOLVE", resolve.as_str()), ("INSTALL_CHECK_CA_FILE", ca_file())];
    let app = App::spawn_with(&settings).await;
    let (ann, eve) = (app.account("ann@example.com").await, app.account("eve@example.com").await);
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let slow = app.pixel(&eve.key, "slow.example").await;
    site.answer("shop.example/", Reply::page(&pixel));
    site.answer("slow.example/", Reply::late(Duration::from_secs(4), Reply::page("")));
    let hammer = futures_util::future::join_all((0..80).map(|_| check(&app, &eve.key, &slow)));
    let honest = async {
        wait_until("the pages are asked for", async || site.seen().len() >= 4).await;
        check(&app, &ann.key, &pixel).await.expect(200)
    };
    let (hammered, checked) = tokio::join!(hammer, honest);
    installed(&checked);
    let (looked, refused): (Vec<_>, Vec<_>) =
        hammered.iter().partition(|answer| answer.status == 200);
    assert_eq!((looked.len(), refused.len()), (4, 76));
    for answer in refused {
        answer.refused(429, "too many requests");
        assert_eq!(answer.header("retry-after"), Some("6"));
    }
    check(&app, &eve.key, &slow).await.expect(200);
}

#[tokio::test]
async fn checks_one_after_the_other_are_limited_per_account() {
    let site = HttpsSite::start(&["shop.example"]).await;
    let resolve = site.resolve(&["shop.example"]);
    let settings = [
        ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
        ("INSTALL_CHECK_CA_FILE", ca_file()),
        ("RATE_LIMITS", "on"),
    ];
    let app = App::spawn_with(&settings).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    site.answer("shop.example/", Reply::page(&pixel));
    for _ in 0..30 {
        installed(&check(&app, &ann.key, &pixel).await.expect(200));
    }
    check(&app, &ann.key, &pixel).await.refused(429, "too many requests");
    assert_eq!(site.seen().len(), 30);
    let arguments = json!({"api_key": ann.key, "pixel_id": pixel});
    refused(&call(&app, "check_install", arguments).await, 429, "too many requests");
    let operator = app.unlimited_account("operator@example.com").await;
    installed(&check(&app, &operator.key, &pixel).await.expect(200));
    app.clock.advance(chrono::Duration::seconds(5));
    installed(&check(&app, &ann.key, &pixel).await.expect(200));
}

#[tokio::test]
async fn waiting_for_a_permit_is_no_finding_about_the_site() {
    let hosts = ["shop.example", "slow.example"];
    let site = HttpsSite::start(&hosts).await;
    let resolve = site.resolve(&hosts);
    let settings =
        [("INSTALL_CHECK_RESOLVE", resolve.as_str()), ("INSTALL_CHECK_CA_FILE", ca_file())];
    let app = App::spawn_with(&settings).await;
    let operator = app.unlimited_account("operator@example.com").await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let slow = app.pixel(&operator.key, "slow.example").await;
    let page = Reply::page(&pixel);
    site.answer("shop.example/", Reply::late(Duration::from_millis(3500), page));
    site.answer("slow.example/", Reply::late(Duration::from_millis(1800), Reply::page("")));
    // All permits of the node: who comes now waits, and then has the whole time for the site.
    let all = futures_util::future::join_all((0..64).map(|_| check(&app, &operator.key, &slow)));
    let waiting = async {
        wait_until("the pages are asked for", async || site.seen().len() >= 64).await;
        check(&app, &ann.key, &pixel).await
    };
    let (_, waited) = tokio::join!(all, waiting);
    installed(&waited.expect(200));
    // And who gets no permit at all is told so, and nothing is stored.
    set_install_status(&app, &pixel, "not_checked").await;
    site.answer("slow.example/", Reply::late(Duration::from_secs(4), Reply::page("")));
    let before = site.seen().len();
    let all = futures_util::future::join_all((0..64).map(|_| check(&app, &operator.key, &slow)));
    let refused = async {
        wait_until("the pages are asked for", async || site.seen().len() >= before + 64).await;
        check(&app, &ann.key, &pixel).await
    };
    let (_, answer) = tokio::join!(all, refused);
    // On a busy machine some of the permits may be free again by then.
    match answer.status {
        200 => installed(&answer.json()),
        _ => {
            answer.refused(503, "the service is busy, try again");
            let stored = shown(&app, &ann.key, &pixel).await;
            assert_eq!(stored["install_status"], "not_checked");
        }
    }
}
