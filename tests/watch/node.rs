//! A node that watches the sites of its pixels.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::runs::{chromium, processes};
use crate::sites::Sites;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::setup::set_install_status;
use crate::support::sites::https_site::{HttpsSite, Reply};
use crate::support::{App, Process};

const HOSTS: [&str; 2] = ["shop.example", "tracker.example"];
const PATIENCE: Duration = Duration::from_secs(400);

/// A site is due; the node visits it under the rules for addresses, and stores what it found.
#[tokio::test]
async fn a_node_watches_an_installed_site_and_reaches_no_private_address() {
    let database = Arc::new(TestDatabase::create().await);
    let app = App::spawn_on(Arc::clone(&database), Clock::System, &[]).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.consent_site(&ann.key, "shop.example").await.pixel_id;
    set_install_status(&app, &pixel, "installed").await;
    let inside = Sites::start(&[]).await;
    let site = HttpsSite::start(&HOSTS).await;
    let port = inside.port;
    let page = format!(
        r#"<!doctype html><title>Shop</title><script async src="{}/px/{pixel}.js"></script>
        <img src="https://tracker.example/i.png" alt=""><img src="https://tracker.example/r" alt="">
        <img src="http://127.0.0.1:{port}/a" alt=""><img src="http://inside.localhost:{port}/b" alt="">
        <iframe src="http://127.0.0.1:{port}/c"></iframe>
        <script>new WebSocket("ws://127.0.0.1:{port}/d"); new WebSocket("ws://localhost:{port}/e");
        fetch("http://[::1]:{port}/f", {{mode: "no-cors"}}).catch(() => {{}});
        navigator.sendBeacon("http://127.0.0.1:{port}/g")</script>"#,
        app.base
    );
    site.answer("shop.example/", Reply::page(page));
    site.answer("tracker.example/r", Reply::redirect(&format!("http://127.0.0.1:{port}/h")));
    let folder = tempfile::Builder::new().prefix("n").rand_bytes(5).tempdir_in("/tmp").unwrap();
    let browser = folder.path().join("browser");
    let script =
        format!("#!/bin/sh\nexec '{}' \"$@\" --ignore-certificate-errors\n", chromium().display());
    std::fs::write(&browser, script).unwrap();
    for path in [folder.path(), &browser] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    sqlx::query(
        "INSERT INTO watch_sites (pixel_id, host, next_watch_at) VALUES ($1, 'shop.example', $2)",
    )
    .bind(&pixel)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    let mut command = program(&database.url);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TMPDIR", folder.path()).env("WATCH_BROWSER", &browser);
    command.env("BASE_URL", &app.base).env("INSTALL_CHECK_RESOLVE", site.resolve(&HOSTS));
    let node = Process::start(command).await;
    let path = format!("/v1/pixels/{pixel}/watch-reports");
    let started = Instant::now();
    let report = loop {
        let list = app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
        if let Some(report) = list["reports"].get(0) {
            break report.clone();
        }
        assert!(started.elapsed() < PATIENCE, "no report: {}", node.log());
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert_eq!((&report["verdict"], &report["by_service"]), (&json!("leaks"), &json!(true)));
    let path = format!("{path}/{}", report["report_id"].as_str().unwrap());
    let read = app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
    let leaks = read["leaks"].as_array().unwrap();
    let has = |host: &str, kind: &str| {
        leaks.iter().any(|leak| leak["host"] == host && leak["kind"] == kind)
    };
    assert!(has("tracker.example", "image"), "{leaks:?}");
    assert!(has("127.0.0.1", "frame") && has("127.0.0.1", "websocket"), "{leaks:?}");
    assert!(!leaks.iter().any(|leak| leak["kind"] == "webrtc"), "the proxy is no leak: {leaks:?}");
    assert_eq!(read["not_observed"], json!([]), "the tag was reached: {read}");
    assert!(inside.asked().is_empty(), "{:?}", inside.asked());
    assert!(site.seen().iter().any(|seen| seen.page == "tracker.example/r"));
    let watch = format!("/v1/pixels/{pixel}/watch");
    let shown = app.call(Method::GET, &watch, &ann.key, Value::Null).await.expect(200);
    assert!(shown["broken_since"].is_string() && shown["next_watch_at"].is_string(), "{shown}");
    drop(node);
    while processes(folder.path()) > 0 {
        assert!(started.elapsed() < PATIENCE, "a browser is left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
