//! The proxy cuts off clients that are slow or send too much; nodes do not see their requests.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fake_node::{Conduct, FakeNode};
use crate::proxy::{Proxy, client};

const WELL: Conduct = Conduct::Answers("200 OK", "{}");

/// Time limit for the end of a connection; the proxy's own defaults are a minute and more.
const TIME_LIMIT: Duration = Duration::from_secs(25);

/// Writes a byte a second until the proxy ends the connection. Returns after how long it did, or
/// `None` when it had not within [`TIME_LIMIT`].
async fn drip(mut socket: TcpStream, byte: u8) -> Option<Duration> {
    let began = Instant::now();
    let mut answer = Vec::new();
    while began.elapsed() < TIME_LIMIT {
        let _ = socket.write_all(&[byte]).await;
        let pause = Duration::from_secs(1);
        if tokio::time::timeout(pause, socket.read_to_end(&mut answer)).await.is_ok() {
            return Some(began.elapsed());
        }
    }
    None
}

/// Waits until the proxy ends the connection, as [`drip`] does.
async fn wait_for_the_end(mut socket: TcpStream) -> Option<Duration> {
    let began = Instant::now();
    let mut answer = Vec::new();
    let ended = socket.read_to_end(&mut answer);
    tokio::time::timeout(TIME_LIMIT, ended).await.ok()?.ok();
    Some(began.elapsed())
}

#[tokio::test]
async fn dripped_headers_are_cut_off_while_honest_visitors_are_served() {
    let node = FakeNode::start(WELL).await;
    let proxy = Proxy::before(&[node.address]).await;
    let dripping = (0..300).map(async |_| {
        let mut socket = proxy.connect().await;
        socket.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").await.unwrap();
        drip(socket, b'a').await
    });
    let honest = async {
        let mut slow = 0;
        for _ in 0..20 {
            let began = Instant::now();
            let answer = client().get(proxy.url("/healthz")).send().await.unwrap();
            assert_eq!(answer.status(), 200);
            slow += usize::from(began.elapsed() > Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        // The tests beside this one may take a moment of the processor.
        assert!(slow < 10, "{slow} of 20 honest visitors waited longer than a second");
    };
    let (ends, ()) = tokio::join!(join_all(dripping), honest);
    let latest = ends.into_iter().max_by_key(|end| end.unwrap_or(Duration::MAX)).flatten();
    assert!(latest.is_some_and(|end| end < Duration::from_secs(12)), "{latest:?}");
    assert_eq!(node.requests().len(), 20, "a node hears of whole requests only");
}

#[tokio::test]
async fn a_body_that_stalls_is_cut_off_and_no_node_hears_of_it() {
    let node = FakeNode::start(WELL).await;
    let proxy = Proxy::before(&[node.address]).await;
    let mut socket = proxy.connect().await;
    let head = "POST /v1/consent/record HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.unwrap();
    let end = wait_for_the_end(socket).await;
    assert!(end.is_some_and(|end| end < Duration::from_secs(12)), "{end:?}");
    assert_eq!(node.connections(), 0);
}

#[tokio::test]
async fn a_dripped_body_takes_nothing_from_a_node() {
    let node = FakeNode::start(WELL).await;
    let proxy = Proxy::before(&[node.address]).await;
    let mut socket = proxy.connect().await;
    let head = "POST /v1/consent/record HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    for written in 0..8 {
        assert_eq!(node.connections(), 0, "a node was asked after {written} bytes");
        socket.write_all(b" ").await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(node.requests().len(), 1);
}

#[tokio::test]
async fn idle_connections_are_closed_before_and_after_a_request() {
    let node = FakeNode::start(WELL).await;
    let proxy = Proxy::before(&[node.address]).await;
    let silent = proxy.connect().await;
    let mut kept = proxy.connect().await;
    kept.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let (silent, kept) = tokio::join!(wait_for_the_end(silent), wait_for_the_end(kept));
    assert!(silent.is_some_and(|end| end < Duration::from_secs(12)), "{silent:?}");
    assert!(kept.is_some_and(|end| end < Duration::from_secs(18)), "{kept:?}");
}

#[tokio::test]
async fn too_large_a_body_is_refused_as_the_service_refuses() {
    let node = FakeNode::start(WELL).await;
    let proxy = Proxy::before(&[node.address]).await;
    let post = async |path: &str, kib: usize| {
        client().post(proxy.url(path)).body(vec![b' '; kib << 10]).send().await.unwrap()
    };
    // The program itself refuses a body of up to the limit of the proxy, which is higher than its own.
    let limits = [
        ("/v1/consent/record", 128),
        ("/v1/pixels/some/contacts", 3 << 10),
        ("/v1/pixels/some/watch-reports", 3 << 10),
        ("/mcp", 5 << 10),
        ("/mcp/x/all", 5 << 10),
        ("/v1/consent/proof/verify", 5 << 10),
    ];
    for (path, kib) in limits {
        assert_eq!(post(path, kib).await.status(), 200, "{path}");
        let refused = post(path, kib + 1).await;
        assert_eq!(refused.status(), 413, "{path}");
        assert_eq!(refused.headers()["content-type"], "application/problem+json");
        assert_eq!(refused.headers()["access-control-allow-origin"], "*");
        let problem = refused.json::<Value>().await.unwrap();
        assert_eq!(problem["detail"], "request body too large");
        assert_eq!(problem["status"], 413);
    }
    assert_eq!(node.requests().len(), limits.len());
}

#[tokio::test]
async fn one_address_cannot_take_all_that_a_node_can_do_at_once() {
    let node = FakeNode::start(Conduct::Hangs(Duration::from_secs(6))).await;
    let proxy = Proxy::before(&[node.address]).await;
    let url = proxy.url("/v1/consent/record");
    let client = client();
    let requests = (0..230).map(|_| client.post(&url).body("{}").send());
    let answers = join_all(requests).await.into_iter().map(Result::unwrap);
    let refused = answers.filter(|answer| answer.status() == 429).collect::<Vec<_>>();
    assert_eq!(refused.len(), 30);
    assert_eq!(refused[0].headers()["retry-after"], "1");
}

/// Number of concurrent requests that the proxy refuses, each from the address that `address` makes from
/// its number.
async fn refused(proxy: &Proxy, number: usize, address: impl Fn(usize) -> String) -> usize {
    let (client, url) = (client(), proxy.url("/slow"));
    let request = |number| client.get(&url).header("X-Forwarded-For", address(number)).send();
    let answers = join_all((0..number).map(request)).await.into_iter().map(Result::unwrap);
    answers.filter(|answer| answer.status() == 429).count()
}

#[tokio::test]
async fn an_ipv6_client_is_its_network_of_64_bits() {
    let node = FakeNode::start(Conduct::Hangs(Duration::from_secs(3))).await;
    let proxy = Proxy::behind_a_balancer(&[node.address]).await;
    let home = |number| format!("2001:db8:a0a:d0a::{number:x}");
    assert_eq!(refused(&proxy, 230, home).await, 30);
    assert_eq!(refused(&proxy, 230, |number| format!("2001:db8:1:{number:x}::1")).await, 0);
    assert_eq!(refused(&proxy, 230, |number| format!("198.51.100.{number}")).await, 0);
    assert_eq!(refused(&proxy, 230, |_| "198.51.100.1".to_owned()).await, 30);
}

#[tokio::test]
async fn an_ipv6_network_of_48_bits_has_ten_times_the_limit() {
    let node = FakeNode::start(Conduct::Hangs(Duration::from_secs(10))).await;
    let proxy = Proxy::behind_a_balancer(&[node.address]).await;
    let site = |number: usize| format!("2001:db8:a:{:x}::{number:x}", number / 150);
    assert_eq!(refused(&proxy, 2_100, site).await, 100);
}
