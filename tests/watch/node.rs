//! A node that watches the sites of its pixels.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use assent::clock::Clock;
use nix::unistd::gethostname;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::runs::{alone, chromium, processes};
use crate::sites::Sites;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::setup::{aliases, set_install_status};
use crate::support::sites::https_site::{HttpsSite, Reply};
use crate::support::waiting::wait_until;
use crate::support::{App, Process};

const HOSTS: [&str; 2] = ["shop.example", "tracker.example"];
const TIMEOUT: Duration = Duration::from_secs(400);

/// The port of a server on all addresses of this machine, and how many have connected to it.
async fn listen_everywhere() -> (u16, Arc<AtomicUsize>) {
    let listener = match TcpListener::bind("[::]:0").await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind("0.0.0.0:0").await.unwrap(),
    };
    let (port, connected) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&connected);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    wait_until("it counts", async || connected.load(Ordering::Relaxed) == 1).await;
    (port, connected)
}

/// Ways to private addresses by names that resolve to them, by other forms of addresses, and by UDP.
fn hidden_ways(port: u16, udp: u16) -> String {
    let name = gethostname().unwrap().into_string().unwrap();
    format!(
        r#"<img src="https://{name}:{port}/" alt=""><img src="https://ip6-localhost:{port}/" alt="">
        <img src="http://0.0.0.0:{port}/" alt=""><img src="http://2130706433:{port}/" alt="">
        <img src="http://[::ffff:127.0.0.1]:{port}/" alt=""><iframe src="http://[::1]:{port}/"></iframe>
        <img src="https://tracker.example/named" alt="">
        <script>new WebSocket("wss://{name}:{port}/")</script>
        <script>new WebSocket("wss://[::1]:{port}/")</script>
        <script>new Worker(URL.createObjectURL(new Blob(["fetch('https://{name}:{port}/', {{mode: 'no-cors'}})"])))
        </script>
        <script>const transport = new WebTransport("https://127.0.0.1:{udp}/");
        for (const part of [transport.ready, transport.closed]) part.catch(() => {{}});
        const other = new WebTransport("https://transport.example:{udp}/");
        for (const part of [other.ready, other.closed]) part.catch(() => {{}})</script>
        <script>const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{udp}"}},
            {{urls: "stun:stun.shop.example"}},
            {{urls: "turn:relay.example:443?transport=tcp", username: "u", credential: "c"}}]}});
        peer.createDataChannel("x");
        peer.createOffer().then((offer) => peer.setLocalDescription(offer))</script>"#
    )
}

/// A site is due; the node visits it under the rules for addresses, and stores what it found.
#[tokio::test]
async fn a_node_watches_an_installed_site_and_reaches_no_private_address() {
    let _alone = alone().await;
    let database = Arc::new(TestDatabase::create().await);
    let app = App::spawn_on(Arc::clone(&database), Clock::System, &[]).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.consent_site(&ann.key, "shop.example").await.pixel_id;
    set_install_status(&app, &pixel, "installed").await;
    let alias = aliases(&app, &pixel).await.remove(0);
    let inside = Sites::start(&[]).await;
    let site = HttpsSite::start(&HOSTS).await;
    let port = inside.port;
    let (everywhere, connected) = listen_everywhere().await;
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let udp = datagrams.local_addr().unwrap().port();
    let hidden = hidden_ways(everywhere, udp);
    let page = format!(
        r#"<!doctype html><title>Shop</title><script src="https://tracker.example/px/shop.js"></script>
        <script async src="{}/px/{alias}.js"></script>
        <img src="https://tracker.example/i.png" alt=""><img src="https://tracker.example/r" alt="">
        <img src="http://127.0.0.1:{port}/a" alt=""><img src="http://inside.localhost:{port}/b" alt="">
        <iframe src="http://127.0.0.1:{port}/c"></iframe>
        <script>new WebSocket("ws://127.0.0.1:{port}/d"); new WebSocket("ws://localhost:{port}/e");
        fetch("http://[::1]:{port}/f", {{mode: "no-cors"}}).catch(() => {{}});
        navigator.sendBeacon("http://127.0.0.1:{port}/g")</script>{hidden}"#,
        app.base
    );
    site.answer("shop.example/", Reply::page(page));
    site.answer("tracker.example/r", Reply::redirect(&format!("http://127.0.0.1:{port}/h")));
    let named = format!("https://{}:{everywhere}/", gethostname().unwrap().display());
    site.answer("tracker.example/named", Reply::redirect(&named));
    let folder = tempfile::Builder::new().prefix("n").rand_bytes(5).tempdir_in("/tmp").unwrap();
    let browser = folder.path().join("browser");
    let script =
        format!("#!/bin/sh\nexec '{}' \"$@\" --ignore-certificate-errors\n", chromium().display());
    std::fs::write(&browser, script).unwrap();
    for path in [folder.path(), &browser] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    sqlx::query(
        "INSERT INTO watch_sites (pixel_id, host, next_watch_at, failures)
         VALUES ($1, 'shop.example', $2, 3)",
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
        assert!(started.elapsed() < TIMEOUT, "no report: {}", node.log());
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
    assert!(has("tracker.example", "script"), "it is no tag of the service: {leaks:?}");
    assert!(has("127.0.0.1", "frame") && has("127.0.0.1", "websocket"), "{leaks:?}");
    // Neither the proxy nor the site's own server is a leak.
    let webrtc = leaks.iter().filter(|leak| leak["kind"] == "webrtc");
    let webrtc = webrtc.map(|leak| leak["url"].as_str().unwrap()).collect::<BTreeSet<_>>();
    let stun = format!("stun:127.0.0.1:{udp}");
    assert_eq!(webrtc, BTreeSet::from([stun.as_str(), "stun:relay.example:443"]), "{leaks:?}");
    assert!(has("transport.example", "other"), "{leaks:?}");
    assert_eq!(read["not_observed"], json!([]), "the tag was reached: {read}");
    assert!(inside.asked().is_empty(), "{:?}", inside.asked());
    for page in ["tracker.example/r", "tracker.example/named"] {
        assert!(site.seen().iter().any(|seen| seen.page == page), "{page}");
    }
    assert_eq!(connected.load(Ordering::Relaxed), 1, "only the test itself has connected");
    assert!(datagrams.recv(&mut [0; 64]).is_err(), "a datagram was sent");
    let watch = format!("/v1/pixels/{pixel}/watch");
    let shown = app.call(Method::GET, &watch, &ann.key, Value::Null).await.expect(200);
    assert!(shown["broken_since"].is_string() && shown["next_watch_at"].is_string(), "{shown}");
    // A report ends the failures before it; the next visit is a day later.
    let planned = "SELECT count(*) FROM watch_sites
        WHERE failures = 0 AND next_watch_at BETWEEN $1 + interval '23 hours' AND $1 + interval '25 hours'";
    wait_until("the next visit is planned", async || {
        let planned = sqlx::query_scalar::<_, i64>(planned).bind(app.clock.now());
        planned.fetch_one(&app.pool).await.unwrap() == 1
    })
    .await;
    drop(node);
    while processes(folder.path()) > 0 {
        assert!(started.elapsed() < TIMEOUT, "a browser is left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
