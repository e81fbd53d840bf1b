//! Install checks of sites that cannot be reached, take too long or send too much, and of names that
//! must not be asked.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::App;
use crate::support::ports::free_port;
use crate::support::setup::set_install_status;
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::sites::install::{Scene, check, installed, not_installed, unreachable};

/// A service with one host led to an address, and what checking that host gives.
async fn check_at(host: &str, address: &str, ca_file: Option<&str>) -> Value {
    let resolve = format!("{host}={address}");
    let mut settings = vec![("INSTALL_CHECK_RESOLVE", resolve.as_str())];
    settings.extend(ca_file.map(|file| ("INSTALL_CHECK_CA_FILE", file)));
    let app = App::spawn_with(&settings).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, host).await;
    check(&app, &ann.key, &pixel).await.expect(200)
}

#[tokio::test]
async fn a_certificate_of_another_host_is_refused() {
    let site = HttpsSite::start(&["other.example"]).await;
    site.answer("shop.example/", Reply::page("hello"));
    let checked = check_at("shop.example", &site.address.to_string(), Some(ca_file())).await;
    unreachable(&checked, "the TLS handshake failed");
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    let site = HttpsSite::start(&["shop.example"]).await;
    site.answer("shop.example/", Reply::page("hello"));
    let checked = check_at("shop.example", &site.address.to_string(), None).await;
    unreachable(&checked, "the TLS handshake failed");
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_site_without_tls_is_refused() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    });
    unreachable(&check_at("shop.example", &address, None).await, "the TLS handshake failed");
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_a_failed_connection() {
    let address = format!("127.0.0.1:{}", free_port());
    unreachable(&check_at("shop.example", &address, None).await, "the connection failed");
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_given_up_after_three_seconds() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let started = Instant::now();
    let checked = check_at("shop.example", &address, None).await;
    unreachable(&checked, "no complete answer in time");
    assert!(started.elapsed() > Duration::from_millis(2900));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_named() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    // RFC 6761, section 6.4: nobody ever has a name under `invalid`.
    let pixel = app.pixel(&ann.key, "nowhere.invalid").await;
    let checked = check(&app, &ann.key, &pixel).await.expect(200);
    unreachable(&checked, "the host name could not be resolved");
}

#[tokio::test]
async fn a_name_of_a_private_address_is_never_connected_to() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "localhost").await;
    let checked = check(&app, &ann.key, &pixel).await.expect(200);
    unreachable(
        &checked,
        "the host name leads to an address that is not public, as localhost does",
    );
}

#[tokio::test]
async fn the_host_behind_a_redirect_is_looked_at_as_well() {
    // Only the first host is led here by hand; the second one is nobody's.
    let site = HttpsSite::start(&["shop.invalid"]).await;
    site.answer("shop.invalid/", Reply::redirect("https://www.shop.invalid/"));
    let checked = check_at("shop.invalid", &site.address.to_string(), Some(ca_file())).await;
    unreachable(&checked, "the host name could not be resolved");
}

#[tokio::test]
async fn a_site_that_does_not_answer_is_given_up_after_five_seconds() {
    let scene = Scene::new().await;
    let started = Instant::now();
    unreachable(&scene.check_home(Reply::Silence).await, "no complete answer in time");
    let took = started.elapsed();
    assert!((Duration::from_millis(4500)..Duration::from_secs(20)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn the_five_seconds_are_for_both_pages_of_a_redirect() {
    let scene = Scene::new().await;
    let pause = Duration::from_secs(3);
    scene.site.answer("shop.example/en", Reply::late(pause, Reply::page(scene.snippet_page())));
    // Each page alone is in time.
    installed(&scene.check_home(Reply::redirect("/en")).await);
    set_install_status(&scene.app, &scene.pixel, "not_checked").await;
    let checked = scene.check_home(Reply::late(pause, Reply::redirect("/en"))).await;
    unreachable(&checked, "no complete answer in time");
}

#[tokio::test]
async fn a_page_that_stalls_halfway_is_judged_by_what_came() {
    let scene = Scene::new().await;
    unreachable(
        &scene.check_home(Reply::Stalling("<html>".into())).await,
        "no complete answer in time",
    );
    installed(&scene.check_home(Reply::Stalling(scene.snippet_page())).await);
}

#[tokio::test]
async fn an_endless_page_is_read_to_one_mebibyte() {
    let scene = Scene::new().await;
    let started = Instant::now();
    unreachable(
        &scene.check_home(Reply::Endless("<html>".into())).await,
        "the page is larger than 1 MiB",
    );
    assert!(started.elapsed() < Duration::from_secs(5));
    installed(&scene.check_home(Reply::Endless(scene.snippet_page())).await);
}

#[tokio::test]
async fn a_page_of_one_mebibyte_is_read_whole_and_a_larger_one_is_not() {
    let scene = Scene::new().await;
    const MIB: usize = 1 << 20;
    let with_id_at_the_end = |size: usize| {
        let mut page = " ".repeat(size - scene.pixel.len());
        page.push_str(&scene.pixel);
        Reply::page(page)
    };
    installed(&scene.check_home(with_id_at_the_end(MIB)).await);
    set_install_status(&scene.app, &scene.pixel, "not_checked").await;
    unreachable(
        &scene.check_home(with_id_at_the_end(MIB + 1)).await,
        "the page is larger than 1 MiB",
    );
    not_installed(&scene.check_home(Reply::page(" ".repeat(MIB))).await);
}

#[tokio::test]
async fn a_page_that_breaks_off_is_said_to_have_broken_off() {
    let scene = Scene::new().await;
    unreachable(
        &scene.check_home(Reply::BreakingOff("<html>".into())).await,
        "the answer broke off",
    );
    unreachable(&scene.check_home(Reply::Raw(b"SSH-2.0-secret\r\n")).await, "the answer broke off");
    unreachable(&scene.check_home(Reply::Raw(b"")).await, "the answer broke off");
}
